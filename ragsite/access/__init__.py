"""Who is calling and how often they may: API keys, operators, client addresses, rate limits.

In: headers and addresses. Out: a Caller with its namespace and scopes, or a refusal. Imports
ragsite.database and ragsite.platform, never an app.
"""
