"""A cache in process memory that stores the objects themselves, whereas Django's would pickle them.
Only for immutable values, because every caller gets the same object."""

from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.locmem import LocMemCache


class MemoryCache(LocMemCache):
    # Attributes of the parent that Django's type stubs leave out.
    _lock: Any
    _cache: Any
    _set: Any
    _delete: Any
    _has_expired: Any

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        name = self.make_key(key, version=version)
        with self._lock:
            if self._has_expired(name):
                self._delete(name)
                return default
            self._cache.move_to_end(name, last=False)
            return self._cache[name]

    def set(
        self,
        key: Any,
        value: Any,
        timeout: Any = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> None:
        with self._lock:
            self._set(self.make_key(key, version=version), value, timeout)
