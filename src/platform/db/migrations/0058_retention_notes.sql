-- Up Migration

-- What maintenance has created, folded and deleted, for the operator console.
create table retention_notes (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  note text not null
);
