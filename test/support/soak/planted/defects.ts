/** A change of a source file: `find` is there exactly once. */
export interface Edit {
  file: string;
  find: string;
  replace: string;
}

/** A defect that the soak has to find, by one of the rules whose names contain `rule`. */
export interface Defect {
  name: string;
  /** What the defect does. */
  what: string;
  rule: RegExp;
  edits: readonly Edit[];
}

const defect = (
  name: string,
  what: string,
  rule: RegExp,
  ...edits: [file: string, find: string, replace: string][]
): Defect => ({
  name,
  what,
  rule,
  edits: edits.map(([file, find, replace]) => ({ file, find, replace })),
});

const SQL = 'src/billing/sql';
const ADMIT = `${SQL}/admit.sql`;
const FINISH = `${SQL}/finish.sql`;
const METERS = `${SQL}/meters.sql`;
const SOURCES = `${SQL}/sources.sql`;
const SUBMIT = 'jobs/submit.ts';
const SERVE = 'src/api/operations/serve-queued.ts';
const JOB_WEBHOOKS = 'src/outbox/webhooks/job-webhooks.ts';
const ENDING = 'src/batches/ending.ts';
const RESULTS = 'src/batches/results.ts';

const ONCE = /ends once/;
const LIMIT = /no limit of/;
const MINUTE = /no limit of a minute/;
const ORDER = /drawn in one order|no limit of/;
const STRAY = /every charge belongs|failed call is not charged/;
const JOB_MESSAGE = /message/;
const BATCH_LINES = /line|data of its item|add up/;

/** Each is found by `npm run soak -- --planted`. */
export const DEFECTS: readonly Defect[] = [
  defect('lost-release', 'the units of a failed call stay reserved', /every call ends/, [
    FINISH,
    `drawn.kind := 'release'; drawn.units := drawn.units - used; returned := returned || drawn;`,
    'null;',
  ]),
  defect('double-settlement', 'a settlement has two ledger lines', ONCE, [
    FINISH,
    'from unnest(settled || returned) as d;',
    'from unnest(settled || settled || returned) as d;',
  ]),
  defect('released-twice', 'a release has two ledger lines', ONCE, [
    FINISH,
    'from unnest(settled || returned) as d;',
    'from unnest(settled || returned || returned) as d;',
  ]),
  defect('refund-twice', 'a refund has two ledger lines', ONCE, [
    `${SQL}/refund.sql`,
    'select d.account_id, at, d.kind, d.source, d.source_id, d.call_id, d.units from unnest(returned) as d;',
    'select d.account_id, at, d.kind, d.source, d.source_id, d.call_id, d.units from unnest(returned || returned) as d;',
  ]),
  defect('failed-call-charged', 'a failed call is charged', /failed call|message states|ends once/, [
    FINISH,
    'least(r.final_units, r.units_reserved) else 0 end;',
    'least(r.final_units, r.units_reserved) else r.units_reserved end;',
  ]),
  defect('rest-charged', 'a partial answer costs as much as a whole one', /at most one unit/, [
    FINISH,
    'then least(r.final_units, r.units_reserved) else',
    'then r.units_reserved else',
  ]),
  defect('forgotten-lock', 'admissions do not lock their accounts', /./, [
    ADMIT,
    'where a.id = any(concerned) order by a.id for no key update skip locked);',
    'where a.id = any(concerned) order by a.id);',
  ]),
  defect('cap-ignored', 'a key or connection with a cap is admitted beyond it', /its cap/, [
    ADMIT,
    'if r.units > greatest(key_left, 0) then',
    'if false then',
  ]),
  defect('cap-not-counted', 'the units of a key with a cap are not counted', /its cap|quota of a key/, [
    ADMIT,
    `if key_units <> '{}' then perform souk_count_key_units(key_units, at); end if;`,
    '',
  ]),
  defect('cap-not-returned', 'units that a call returns stay counted for its key', /quota of a key/, [
    FINISH,
    'from unnest(ended) as e where e.key_id is not null and e.units_charged < e.units_reserved));',
    'from unnest(ended) as e where false));',
  ]),
  defect('minute-not-counted', 'the calls of a minute are not counted', MINUTE, [
    METERS,
    'when s.minute_start = u.minute_start then s.minute_used else 0 end + u.calls,',
    'when s.minute_start = u.minute_start then s.minute_used else 0 end,',
  ]),
  defect('pack-minute-not-counted', 'the calls of a minute on packs are not counted', MINUTE, [
    METERS,
    'then a.pack_minute_used else 0 end + u.calls,',
    'then a.pack_minute_used else 0 end,',
  ]),
  defect('day-limit-ignored', 'the units of a day are not limited', LIMIT, [
    SOURCES,
    'p.daily_limit * s.quantity - case when s.day_start >= this_day then s.day_used else 0 end, 9e18::bigint) as day_left',
    'p.daily_limit * s.quantity, 9e18::bigint) as day_left',
  ]),
  defect('month-limit-ignored', 'the units of a month are not limited', LIMIT, [
    SOURCES,
    'p.monthly_limit * s.quantity - case when s.month_start = m.month_start then s.month_used else 0 end, 9e18::bigint)',
    'p.monthly_limit * s.quantity, 9e18::bigint)',
  ]),
  defect('wrong-wallet-order', 'the general wallet is used before the off-peak one', ORDER, [
    ADMIT,
    'order by s.account_id, s.wallet desc, s.source,',
    'order by s.account_id, s.wallet, s.source,',
  ]),
  defect('wrong-pack-order', 'the pack that ends last is used first', ORDER, [
    ADMIT,
    's.source, s.ends_at, s.source_id);',
    's.source, s.ends_at desc, s.source_id);',
  ]),
  defect('expiry-ignored', 'a pack is used after its end', /after its end/, [
    SOURCES,
    'where k.valid_from <= at and k.valid_until > at\n  ) as k',
    'where k.valid_from <= at\n  ) as k',
  ]),
  defect('expiry-not-booked', 'the units left in a pack leave without a line', /expire at its end/, [
    `${SQL}/expire.sql`,
    'from ended where ended.remaining_units > 0',
    'from ended where false',
  ]),
  defect('wrong-off-peak-zone', 'off-peak hours are read as UTC', /off-peak|drawn in one order/, [
    `${SQL}/windows.sql`,
    'then (at at time zone zone)::time >= window_start and (at at time zone zone)::time < window_end',
    `then (at at time zone 'UTC')::time >= window_start and (at at time zone 'UTC')::time < window_end`,
  ]),
  defect('off-peak-end-included', 'off-peak units are used an hour too long', /off-peak/, [
    `${SQL}/windows.sql`,
    'then (at at time zone zone)::time >= window_start and (at at time zone zone)::time < window_end',
    `then (at at time zone zone)::time >= window_start and (at at time zone zone)::time < window_end + interval '1 hour'`,
  ]),
  defect('day-not-returned', 'released units do not return to the day', /quota equals|in one order/, [
    METERS,
    'day_used = s.day_used - u.day_units,',
    'day_used = s.day_used,',
  ]),
  defect('pack-not-returned', 'released units do not return to the pack', /quota equals|in one order/, [
    METERS,
    'set remaining_units = k.remaining_units + u.units',
    'set remaining_units = k.remaining_units',
  ]),
  defect('usage-of-reserved', 'the usage counts reserved units', /usage of a day/, [
    FINISH,
    'sum(e.units_charged)\n  from unnest(ended) as e group by',
    'sum(e.units_reserved)\n  from unnest(ended) as e group by',
  ]),
  defect('claim-forgotten', 'an identical call soon after the first is charged again', /identical calls/, [
    FINISH,
    `from unnest(ended) as e where e.state = 'settled'\n  on conflict (claim_key)`,
    'from unnest(ended) as e where false\n  on conflict (claim_key)',
  ]),
  defect(
    'admission-not-durable',
    'a crash of PostgreSQL loses admissions',
    /job whose id|has a result|has its message/,
    [
      ADMIT,
      'if not dry then\n    held := array(',
      `perform set_config('synchronous_commit', 'off', true);\n  if not dry then\n    held := array(`,
    ],
  ),
  defect(
    'revoked-key-admitted',
    'a revoked key goes on',
    /revoked key/,
    [ADMIT, '(k.revoked_at is not null or k.expires_at <= at)', '(k.expires_at <= at)'],
    [
      'src/accounts/authentication.ts',
      'k.revoked_at is not null or coalesce(k.expires_at <= $2, false) as revoked,',
      'coalesce(k.expires_at <= $2, false) as revoked,',
    ],
  ),
  defect('not-given-back', 'a call whose caller gets an error stays charged', STRAY, [
    SUBMIT,
    `if (admission.kind !== 'joined' && !background) await giveBack(deps, call);`,
    '',
  ]),
  defect('undecided-not-given-back', 'an admission whose reply was lost stays', STRAY, [
    SUBMIT,
    'if (undecidedMs !== null) await giveBack(',
    'if (undecidedMs === -1) await giveBack(',
  ]),
  defect('joined-call-charged', 'a joined call states units', /joined call costs nothing/, [
    SERVE,
    'const unitsConsumed = pending.deduplicated ? 0 : completion.unitsCharged;',
    'const unitsConsumed = completion.unitsCharged;',
  ]),
  defect('units-header-wrong', 'an answer from the cache states 0 units', /units in its answer/, [
    SERVE,
    'unitsConsumed: units,',
    'unitsConsumed: 0,',
  ]),
  defect(
    'settled-not-delivered',
    'a charged answer is not stored',
    /has a result|units in its answer|every batch ends/,
    ['workers/produce.ts', 'answers.putOwn({ accountId, callId, background }, own),', 'Promise.resolve(),'],
  ),
  defect(
    'answer-of-another-site',
    'the cache answers with the products of another site',
    /what was asked for/,
    [
      'jobs/payload.ts',
      `['presentation', provider, operation.name, shownInput(operation, input)]`,
      `['presentation', provider, operation.name, { ...shownInput(operation, input), domain: 1 }]`,
    ],
  ),
  defect(
    'deadline-without-release',
    'a lost job neither runs again nor is released at its deadline',
    /every call ends|has a result/,
    [
      'src/billing/settlement.ts',
      'findOverdueCalls(database, now - RECONCILE_GRACE_MS, BATCH)',
      '[] as Call[]',
    ],
    ['jobs/reconcile.ts', 'if (payloads.length > 0) await addJobs(queues, pool, payloads);', ''],
  ),
  defect('batch-item-lost', 'the last item of a call of a batch has no line', BATCH_LINES, [
    RESULTS,
    '.map(({ index, raw, data, metadata }) => {',
    '.slice(0, Math.max(1, results.length - 1)).map(({ index, raw, data, metadata }) => {',
  ]),
  defect('batch-item-twice', 'the first item of a call of a batch has two lines', BATCH_LINES, [
    RESULTS,
    'return results\n    .map(({ index, raw, data, metadata }) => {',
    'return [...results.slice(0, 1), ...results]\n    .map(({ index, raw, data, metadata }) => {',
  ]),
  defect('batch-items-mixed', 'the items of a call of a batch have the data of the first one', BATCH_LINES, [
    RESULTS,
    'bundle.pick(data, operation.params.parse(raw))',
    'bundle.pick(data, operation.params.parse(call.items[0]))',
  ]),
  defect(
    'batch-joined-charged',
    'a batch counts the charge of a call that it has joined',
    /charges of batches|at most one unit/,
    [
      'src/batches/collect.ts',
      'let unitsCharged = call.joined ? 0 : booked.unitsCharged;',
      'let unitsCharged = booked.unitsCharged + (call.attempts > 1 ? booked.unitsCharged : 0);',
    ],
  ),
  defect('batch-webhook-lost', 'a batch with a failed item ends without its message', JOB_MESSAGE, [
    ENDING,
    'if (!batch.webhook) return;',
    'if (!batch.webhook || batch.items.failed > 0) return;',
  ]),
  defect('batch-webhook-twice', 'the end of a batch has two messages', JOB_MESSAGE, [
    ENDING,
    'if (rowCount === 1) await onFinished(client, batchId);',
    'if (rowCount === 1) for (let i = 0; i < 2; i += 1) await onFinished(client, batchId);',
  ]),
  defect('webhook-lost', 'one of the jobs that end together has no message', JOB_MESSAGE, [
    JOB_WEBHOOKS,
    'await enqueueAll(client, events, now);',
    'await enqueueAll(client, events.slice(1), now);',
  ]),
  defect('webhook-twice', 'the end of a job has two messages with different ids', JOB_MESSAGE, [
    JOB_WEBHOOKS,
    'await enqueueAll(client, events, now);',
    'await enqueueAll(client, [...events, ...events], now);',
  ]),
  defect(
    'webhook-without-charge',
    'the message of a job is sent before its end',
    JOB_MESSAGE,
    [JOB_WEBHOOKS, `where c.state <> 'reserved' limit $1`, 'limit $1'],
    [JOB_WEBHOOKS, 'at: call.finishedAt.getTime(),', 'at: now,'],
  ),
  defect('webhook-units-wrong', 'the message of a job states no units', JOB_MESSAGE, [
    JOB_WEBHOOKS,
    '    unitsCharged,\n    error: error',
    '    unitsCharged: 0,\n    error: error',
  ]),
  defect('webhook-unsigned', 'the signature is that of another body', /signed/, [
    'src/outbox/webhooks/webhook-sender.ts',
    'new Webhook(secret).sign(id, at, payload)',
    `new Webhook(secret).sign(id, at, 'other')`,
  ]),
  defect('tick-lost', 'a schedule that is due moves to its next time without a run', /every tick/, [
    'src/batches/schedules/schedule-runs.ts',
    'return noteRun(deps, client, schedule, { runId: uuid(), dueAt, trigger });',
    'return dueAt % 2 === 0 ? null : noteRun(deps, client, schedule, { runId: uuid(), dueAt, trigger });',
  ]),
];
