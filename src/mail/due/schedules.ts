const BAD_IN_SERIES = 3;

/** The runs of a schedule that are examined. */
const RUNS_EXAMINED = 50;

/**
 * Whether a run has ended well. null: it has not ended, or was left out because the run before had not ended. A batch without
 * any result is a failed run.
 */
const IS_GOOD = `case
    when r.state = 'skipped' and r.reason = 'The previous run has not finished.' then null
    when r.state <> 'started' then false
    when b.id is null then true
    when b.finished_at is null then null
    else b.done_items > 0 or b.failed_items = 0
  end`;

const runsOf = (limit: number) => `
  select r.id::text as id, coalesce(r.reason, 'No item has a result.') as reason, ${IS_GOOD} as good
  from schedule_runs r left join batches b on b.id = r.batch_id where r.schedule_id = s.id order by r.id desc limit ${limit}`;

/**
 * Schedules whose last three ended runs have failed, once for each series of failures. Schedules whose last run was good take
 * one index step. The ids of runs increase with time.
 */
export const SCHEDULE_FAILING = `
  select s.account_id, 'schedule_failing' as kind, s.id || ' ' || f.since as cause,
    json_build_object('scheduleId', s.id, 'name', s.name, 'isTracker', exists (select from trackers t where t.id = s.id),
      'since', f.since, 'reason', f.reason) as facts
  from schedules s
  cross join lateral (select bool_or(good) as good from (${runsOf(1)}) as r) as l
  cross join lateral (
    select min(e.id) as since, count(*) as bad, (array_agg(e.reason order by e.id desc))[1] as reason, min(e.good_id) as good_id,
      min(e.examined) as examined
    from (
      select r.*, max(id) filter (where good) over () as good_id, count(*) over () as examined
      from (${runsOf(RUNS_EXAMINED)}) as r
    ) as e
    where good is false and (good_id is null or e.id > good_id)
  ) as f
  where s.next_due_at is not null and l.good is distinct from true and f.bad >= ${BAD_IN_SERIES}
    and (f.good_id is not null or f.examined < ${RUNS_EXAMINED})`;

/** Schedules with a run that waits for units, once a week. */
export const SCHEDULE_WAITS = `
  select s.account_id, 'schedule_waits' as kind, s.id || ' ' || w.week as cause,
    json_build_object('scheduleId', s.id, 'name', s.name, 'isTracker', exists (select from trackers t where t.id = s.id),
      'since', w.week) as facts
  from (
    select distinct schedule_id, to_char($1::timestamptz at time zone 'UTC', 'IYYY-IW') as week from batches
    where finished_at is null and schedule_id is not null and waiting_until > $1
      and waiting_reason in ('QUOTA_NO_SUBSCRIPTION', 'QUOTA_DAILY_EXCEEDED', 'QUOTA_MONTHLY_EXCEEDED', 'QUOTA_PACK_EXHAUSTED',
        'QUOTA_INSUFFICIENT_UNITS')
  ) as w join schedules s on s.id = w.schedule_id`;
