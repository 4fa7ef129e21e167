"""Language models: take chat messages and return text, whole or streamed.

Backends of `settings.LANGUAGE_MODELS`. Plain Python; options are passed to constructors. May import
documents/providers. The caller records the cost of a call (documents/metering).
"""
