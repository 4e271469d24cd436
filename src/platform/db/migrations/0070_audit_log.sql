-- Up Migration

-- What the operator did. Lines are only added; the triggers refuse to change them, and to delete lines of the last 400 days.
create table audit_log (
  id bigint generated always as identity primary key,
  -- By the clock of the database.
  at timestamptz not null default clock_timestamp(),
  channel text not null check (channel in ('console', 'command')),
  -- The start of the digest of the operator token, or the user and host of the command.
  operator text not null,
  -- The network address of a request to the console.
  address text,
  action text not null,
  account_id bigint,
  -- What was changed, such as the code of a plan.
  target text,
  before jsonb,
  after jsonb
);
create index audit_log_at on audit_log (at);
create index audit_log_account on audit_log (account_id, id) where account_id is not null;
create index audit_log_refused on audit_log (at) where action = 'session.refused';

create function souk_keep_audit_log() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if old.at < now() - interval '400 days' then return old; end if;
  end if;
  raise exception 'the audit log is append-only: % is refused', lower(tg_op) using errcode = 'insufficient_privilege';
end
$$;
create trigger audit_log_rows before update or delete on audit_log for each row execute function souk_keep_audit_log();
create trigger audit_log_truncate before truncate on audit_log for each statement execute function souk_keep_audit_log();
