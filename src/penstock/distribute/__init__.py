"""Strategies: how a step of a program is spread over devices."""
