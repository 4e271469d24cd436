-- Whether calls are admitted, in one row. A restored database, and one whose server has changed, admits none until its books were
-- audited or the operator says so.
create table admission_state (
  one boolean primary key default true check (one),
  -- The server on which calls were admitted: its system identifier and timeline. null: not known, or the server does not show it.
  system_id text,
  timeline text,
  -- null: calls are admitted.
  closed_at timestamptz,
  reason text check (reason in ('restored', 'failed-over')),
  -- The last moment of which this database has records.
  recorded_until timestamptz,
  -- The incident of the status page.
  incident_id bigint,
  -- Whether an audit has found faults since then.
  has_faults boolean not null default false,
  -- When the last backup was begun, so that a restored one knows its time.
  backup_begun_at timestamptz
);
insert into admission_state default values;

-- An incident that the closing of admission has begun, and not failures that were measured.
alter table incidents add column is_recovery boolean not null default false;
