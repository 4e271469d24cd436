-- The server around this database. A part is null if PostgreSQL, or a service that speaks its protocol, does not show it.
create or replace function souk_server(out system_id text, out timeline text) language plpgsql as $$
begin
  begin
    select c.system_identifier::text into system_id from pg_control_system() as c;
  exception when others then system_id := null;
  end;
  begin
    -- The name of a file of the log begins with the timeline.
    timeline := left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
  exception when others then timeline := null;
  end;
end
$$;

-- Closes admission if this database is not on the server on which calls were admitted: it was restored into another one, or a
-- standby or a recovery to a point in time has begun a new timeline. Every connection that admits calls begins with it, so that a
-- new server admits none before.
create or replace function souk_note_server() returns void language plpgsql as $$
declare
  here constant record := souk_server();
  known admission_state;
begin
  select * into known from admission_state;
  if known.system_id <> here.system_id then perform souk_close_admission('restored');
  elsif known.timeline <> here.timeline then perform souk_close_admission('failed-over');
  elsif known.system_id is null and here.system_id is not null or known.timeline is null and here.timeline is not null then
    update admission_state set system_id = here.system_id, timeline = here.timeline;
  end if;
end
$$;

-- Admits no call from now on, and begins an incident of the status page. Changes nothing but the server if admission is closed.
create or replace function souk_close_admission(why text) returns void language plpgsql as $$
declare
  at constant timestamptz := clock_timestamp();
  here constant record := souk_server();
  known admission_state;
  since timestamptz;
  incident bigint;
begin
  select * into known from admission_state for update;
  update admission_state set system_id = here.system_id, timeline = here.timeline;
  if known.closed_at is not null then return; end if;

  since := least(at, coalesce(
    -- The last commit that a standby or a recovery has applied.
    case when why = 'failed-over' then pg_last_xact_replay_timestamp() end,
    greatest(known.backup_begun_at, (select max(l.at) from audit_log l), (select max(c.accepted_at) from call_claims c),
      (select max(c.accepted_at) from open_calls c), (select max(m.minute) from status_minutes m),
      (select max(r.minute) from token_readings r)),
    at));
  insert into incidents (component, started_at, level, level_now, notes, is_recovery)
  values ('api', since, 'outage', 'outage', jsonb_build_array(souk_incident_note(at, format(
    'The service %s. What was recorded between %s and %s may be missing: calls, purchases and changes. Calls are refused with 503 RECOVERING, and cost nothing, until the records have been checked.',
    case why when 'restored' then 'was restored from a backup' else 'has moved to another database server, or back to an earlier moment' end,
    souk_time_text(since), souk_time_text(at)))), true)
  on conflict (component, started_at) do update
    set ended_at = null, level = 'outage', level_now = 'outage', notes = incidents.notes || excluded.notes, is_recovery = true
  returning id into incident;
  update admission_state
  set closed_at = at, reason = why, recorded_until = since, incident_id = incident, has_faults = false;

  -- The requests that waited for these calls have ended, so they are released at no charge unless they end within the next
  -- seconds. Calls with a job and those of batches run again.
  update open_calls c set deadline_at = at
  from (select o.account_id, o.id from open_calls o
    where not o.background and not o.polled and o.deadline_at > at for update skip locked) as waited
  where c.account_id = waited.account_id and c.id = waited.id;
end
$$;

-- Admits calls again, unless admission has been closed at another time than `closing`. Returns whether it was closed and is open.
create or replace function souk_open_admission(note text, closing timestamptz) returns boolean language plpgsql as $$
declare
  at constant timestamptz := clock_timestamp();
  here constant record := souk_server();
  known admission_state;
begin
  select * into known from admission_state for update;
  if known.closed_at is null or known.closed_at <> closing then return false; end if;
  update admission_state set system_id = here.system_id, timeline = here.timeline, closed_at = null, reason = null,
    recorded_until = null, incident_id = null, has_faults = false;
  update incidents i set ended_at = at, level_now = 'operational', notes = i.notes || souk_incident_note(at, note)
  where i.id = known.incident_id;
  return true;
end
$$;

create or replace function souk_incident_note(at timestamptz, note text) returns jsonb language sql stable as $$
  select jsonb_build_object('at', to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'text', note)
$$;

create or replace function souk_time_text(at timestamptz) returns text language sql stable as $$
  select to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC'
$$;
