"""What workers must agree on: one small interface, one engine for each place it can live."""
