-- Keys as Citus needs them: docs/citus.md. For an installation after `migrate`, as the owner.
-- Each key of the four large tables holds the column that rows are distributed by.
BEGIN;

-- The queue stays on the coordinator, and a local table cannot refer to a distributed one.
ALTER TABLE documents_ingestjob
  DROP CONSTRAINT documents_ingestjob_document_id_same_namespace,
  DROP CONSTRAINT documents_ingestjob_version_id_same_namespace;

ALTER TABLE documents_chunkterms
  DROP CONSTRAINT chunkterms_of_chunk,
  DROP CONSTRAINT documents_chunkterms_pkey,
  ADD PRIMARY KEY (namespace_id, chunk_id);

ALTER TABLE documents_chunk
  DROP CONSTRAINT documents_chunk_pkey,
  DROP CONSTRAINT chunk_ordinal_once,
  ADD PRIMARY KEY (namespace_id, id),
  ADD CONSTRAINT chunk_ordinal_once UNIQUE (namespace_id, version_id, profile_id, ordinal);

ALTER TABLE documents_chunkterms
  ADD CONSTRAINT chunkterms_of_chunk FOREIGN KEY (namespace_id, chunk_id)
    REFERENCES documents_chunk (namespace_id, id) ON DELETE CASCADE;

ALTER TABLE documents_documentversion
  DROP CONSTRAINT documents_documentversion_pkey,
  DROP CONSTRAINT version_number_once,
  ADD PRIMARY KEY (namespace_id, id),
  ADD CONSTRAINT version_number_once UNIQUE (namespace_id, document_id, number);

ALTER TABLE documents_document
  DROP CONSTRAINT documents_document_pkey,
  ADD PRIMARY KEY (namespace_id, id);

COMMIT;
