from django.urls import path

from . import batches, files, search_view, stores

_STORE = "vector_stores/<str:store_id>"
_FILE = f"{_STORE}/files/<str:file_id>"
_BATCH = f"{_STORE}/file_batches/<str:batch_id>"

urlpatterns = [
    path("vector_stores", stores.StoreListView.as_view(), name="vector-stores"),
    path(_STORE, stores.StoreView.as_view(), name="vector-store"),
    path(f"{_STORE}/search", search_view.StoreSearchView.as_view(), name="vector-store-search"),
    path(f"{_STORE}/files", files.StoreFileListView.as_view(), name="vector-store-files"),
    path(_FILE, files.StoreFileView.as_view(), name="vector-store-file"),
    path(f"{_FILE}/content", files.StoreFileContentView.as_view(), name="vector-store-content"),
    path(f"{_STORE}/file_batches", batches.BatchListView.as_view(), name="file-batches"),
    path(_BATCH, batches.BatchView.as_view(), name="file-batch"),
    path(f"{_BATCH}/cancel", batches.BatchCancelView.as_view(), name="file-batch-cancel"),
    path(f"{_BATCH}/files", batches.BatchFileListView.as_view(), name="file-batch-files"),
]
