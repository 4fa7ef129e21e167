"""Language models: chat messages in, text out, whole or as it is written.

Backends of `settings.LANGUAGE_MODELS`. They are plain Python (options come through constructors)
and may import the provider layer, never models, settings or the web framework. Who pays is the
business of whoever calls them: `usage`, the one module here that knows the database, books what an
answer took and stops it at the caps.
"""
