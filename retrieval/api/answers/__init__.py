"""POST /answer as JSON, server-sent events and WebSocket; its settings and prompt preview."""
