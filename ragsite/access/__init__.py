"""Who is calling and how often they may: API keys, operators, client addresses, rate limits.

In: headers and addresses. Out: a Caller with its namespace and scopes, or an ApiError. May import
ragsite.database and ragsite.platform, never an app.
"""
