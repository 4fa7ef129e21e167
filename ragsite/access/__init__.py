"""Who is calling and how often they may: API keys, operators, client addresses, rate limits.

Takes headers and addresses; returns a Caller with its namespace and scopes, or raises ApiError. May
import ragsite.database and ragsite.platform, never an app.
"""
