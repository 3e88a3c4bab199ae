"""Tests of the fetch room: real sockets on loopback, ephemeral ports."""
