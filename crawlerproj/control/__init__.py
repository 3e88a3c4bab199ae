"""Talking to a crawl: the same questions and orders for a running one and a stopped one."""
