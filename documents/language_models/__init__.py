"""Language models: chat messages in, text out, whole or as it is written.

Backends of `settings.LANGUAGE_MODELS`. They are plain Python (options come through constructors)
and may import documents/providers, never models, settings or the web framework. What a call costs
is recorded by its caller (documents/metering).
"""
