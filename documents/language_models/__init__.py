"""Language models: take chat messages and return text, whole or streamed.

Backends of `settings.LANGUAGE_MODELS`. Plain Python with options passed to constructors; may import
documents/providers, never models, settings or the web framework. The caller records the cost of a
call (documents/metering).
"""
