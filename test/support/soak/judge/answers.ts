import type { BookedCall, Fault } from './books.ts';
import type { Exchange, Message } from './history.ts';

/** How long after a client has gone its request may still be admitted: gateways repeat an admission during an outage. */
const LATE_MS = 60_000;

/** Within this time after its acceptance, a call is not charged again. */
const DEDUPLICATION_MS = 300_000;

/** Compares what the clients of an account received with its ledger. */
export function judgeAnswers(
  calls: ReadonlyMap<string, BookedCall>,
  exchanges: readonly Exchange[],
  messages: readonly Message[],
  failOvers: readonly number[],
): Fault[] {
  const faults: Fault[] = [];
  for (const exchange of exchanges) faults.push(...judgeExchange(calls, exchange, failOvers));
  return [
    ...faults,
    ...judgeClaims(calls, exchanges),
    ...judgeStrays(calls, exchanges),
    ...judgeWebhooks(calls, exchanges, messages),
  ];
}

/** How long before a fail-over a settlement may be lost, with the time that its answer took to arrive. */
const LOST_SETTLEMENT_MS = 1_000;

/** A call whose settlement was lost by a fail-over is released, and its caller keeps the answer. */
function mayBeFree(
  { what, sentAt, endedAt }: Exchange,
  call: BookedCall | undefined,
  failOvers: readonly number[],
) {
  if (what !== 'call' || !call || call.used + call.held > 0) return false;
  return failOvers.some((at) => sentAt <= at && endedAt >= at - LOST_SETTLEMENT_MS);
}

function judgeExchange(
  calls: ReadonlyMap<string, BookedCall>,
  exchange: Exchange,
  failOvers: readonly number[],
): Fault[] {
  const { what, outcome, said, units, jobId, asked, got } = exchange;
  const call = calls.get(jobId ?? '');
  const broken: string[] = [];
  const isJoined = said.endsWith('joined');
  if (outcome === 'answered' && what !== 'cancel' && !call?.isRefunded) {
    if (!isJoined && units !== (call?.used ?? 0) && !mayBeFree(exchange, call, failOvers))
      broken.push('an answered call cost the units in its answer');
    if (isJoined && units !== 0) broken.push('a joined call costs nothing');
    if (isJoined && !call) broken.push('a job whose id a client received exists');
  }
  if (outcome === 'failed' && units !== 0) broken.push('an error states 0 units');
  if (outcome === 'failed' && what !== 'cancel' && call && call.used + call.held !== 0)
    broken.push('a failed call is not charged');
  if (/HEADERS_TIMEOUT|BODY_TIMEOUT/.test(said)) broken.push('every request is answered in time');
  if (what === 'result' && outcome !== 'answered' && outcome !== 'failed')
    broken.push('every accepted job has a result');
  if (what === 'poll' && said.startsWith('404')) broken.push('a job whose id a client received exists');
  if (got && !isAnswerTo(asked, got)) broken.push('an answer has what was asked for');
  if (got && asked.startsWith('market.product?') && units > got.length)
    broken.push('an answer costs at most one unit for each product in it');
  return broken.map((promise) => ({ promise, row: { ...exchange, booked: call } }));
}

/** An answer has products of the site and the ASINs of its request, perhaps without those that could not be fetched. */
function isAnswerTo(asked: string, got: readonly string[]): boolean {
  const query = new URLSearchParams(asked.split('?')[1]);
  if (!query.has('asins')) return true;
  const asins = new Set(query.get('asins')?.split(','));
  const site = query.get('domain');
  return got.every((product) => {
    const [domain, asin = ''] = product.split(' ');
    return domain === site && asins.has(asin);
  });
}

/** Requests that ask for the same are one charge within five minutes, apart from the rest of a partial answer. */
function judgeClaims(calls: ReadonlyMap<string, BookedCall>, exchanges: readonly Exchange[]): Fault[] {
  const claims = new Map<string, Set<BookedCall>>();
  for (const { what, outcome, asked, jobId } of exchanges) {
    const call = calls.get(jobId ?? '');
    if (what !== 'call' || !call || (outcome !== 'answered' && outcome !== 'accepted') || call.used === 0)
      continue;
    claims.set(asked, (claims.get(asked) ?? new Set()).add(call));
  }
  return [...claims].flatMap(([asked, same]) => {
    const inOrder = [...same].sort((a, b) => a.at - b.at);
    return inOrder.flatMap((again, i) => {
      const first = inOrder[i - 1];
      if (!first || again.at >= first.at + DEDUPLICATION_MS) return [];
      if (again.reserved <= first.reserved - first.used) return [];
      return [
        { promise: 'identical calls are charged once within five minutes', row: { asked, first, again } },
      ];
    });
  });
}

/** Finds charges of which every client received an error, or which no request explains. */
function judgeStrays(calls: ReadonlyMap<string, BookedCall>, exchanges: readonly Exchange[]): Fault[] {
  const known = new Set<string>();
  for (const { jobId, outcome } of exchanges)
    if (jobId && outcome !== 'failed' && outcome !== 'refused') known.add(jobId);
  const unheard = exchanges
    .filter(({ what, outcome }) => what === 'call' && outcome === 'unheard')
    .sort((a, b) => a.endedAt - b.endedAt);
  const strays = [...calls.values()]
    .filter(({ used, callId }) => used > 0 && !known.has(callId))
    .sort((a, b) => a.at - b.at);
  return strays.flatMap((call) => {
    const explains = unheard.findIndex(
      ({ asked, sentAt, endedAt }) =>
        asked.startsWith(call.operation) && call.at >= sentAt - 1_000 && call.at <= endedAt + LATE_MS,
    );
    if (explains >= 0) {
      unheard.splice(explains, 1);
      return [];
    }
    const answers = exchanges.filter(({ jobId }) => jobId === call.callId);
    return [
      {
        promise: 'every charge belongs to a request that may have had its answer',
        row: { ...call, answers },
      },
    ];
  });
}

/** Each accepted job with a webhook has its message, which states its end and its charge; a second message needs a second request. */
function judgeWebhooks(
  calls: ReadonlyMap<string, BookedCall>,
  exchanges: readonly Exchange[],
  messages: readonly Message[],
): Fault[] {
  const asked = new Map<string, Exchange[]>();
  for (const exchange of exchanges)
    if (exchange.webhook && exchange.outcome === 'accepted' && exchange.jobId)
      asked.set(exchange.jobId, [...(asked.get(exchange.jobId) ?? []), exchange]);
  // A call that was admitted and given back has an end as well.
  const perhaps = exchanges.filter(({ webhook, outcome }) => webhook && outcome !== 'accepted').length;
  const sent = new Map<string, Map<string, Message>>();
  for (const message of messages)
    if (message.type === 'job.completed')
      sent.set(message.subject, (sent.get(message.subject) ?? new Map()).set(message.id, message));
  const missing = [...asked.keys()].filter((jobId) => !sent.has(jobId));
  return [
    ...missing.map((jobId) => ({ promise: 'a job with a webhook has its message', row: { jobId } })),
    ...[...sent].flatMap(([jobId, ofJob]) => {
      const call = calls.get(jobId);
      const most = (asked.get(jobId)?.length ?? 0) + perhaps;
      const wrong = [...ofJob.values()].filter(
        ({ state, units }) =>
          !call?.isRefunded && (units !== (call?.used ?? 0) || (state !== 'done' && call && call.used > 0)),
      );
      return [
        ...wrong.map((message) => ({
          promise: 'a message states the charge of its job',
          row: { ...message, call },
        })),
        ...(ofJob.size > most
          ? [{ promise: 'the end of a job is one message', row: { jobId, most, ids: [...ofJob.keys()] } }]
          : []),
      ];
    }),
  ];
}
