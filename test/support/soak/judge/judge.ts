import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { judgeAnswers } from './answers.ts';
import { type BackgroundStory, judgeBackground } from './background.ts';
import { Books, type Fault } from './books.ts';
import type { Exchange, Granted, HistoryEvent, LedgerLine, Quota } from './history.ts';

/** All events of an account. */
interface Story extends BackgroundStory {
  granted: Granted | null;
  exchanges: Exchange[];
  ledger: LedgerLine[];
  quotas: Quota[];
  usage: { day: string; operation: string; units: number }[];
}

/** Checks a history. It knows the interface of the service and its promises, and nothing else. */
export async function judge(
  events: AsyncIterable<HistoryEvent> | Iterable<HistoryEvent>,
): Promise<{ faults: Fault[]; counts: Record<string, number> }> {
  const stories = new Map<number, Story>();
  const counts: Record<string, number> = {};
  const failOvers: number[] = [];
  let endAt = 0;
  for await (const event of events) {
    const name = nameOf(event);
    counts[name] = (counts[name] ?? 0) + 1;
    if (event.kind === 'end') endAt = event.at;
    else if (event.kind === 'fail-over') failOvers.push(event.at);
    else add(stories, event);
  }
  const faults: Fault[] = [];
  for (const [account, story] of stories) {
    const { granted } = story;
    if (!granted) continue;
    const books = new Books(granted, story.ledger);
    for (const { used } of books.calls.values()) {
      const name = used > 0 ? 'calls charged' : 'calls not charged';
      counts[name] = (counts[name] ?? 0) + 1;
    }
    for (const { promise, row } of judgeStory(story, books, { endAt, failOvers }))
      faults.push({ promise, row: { account, name: granted.name, ...row } });
  }
  if (endAt === 0) faults.push({ promise: 'a history has an end', row: {} });
  return { faults, counts };
}

export async function judgeFile(file: string): ReturnType<typeof judge> {
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  async function* events() {
    for await (const line of lines) yield JSON.parse(line) as HistoryEvent;
  }
  return judge(events());
}

/** Names a kind of event, for the counts of a report. */
function nameOf(event: HistoryEvent): string {
  if (event.kind === 'exchange') return `${event.what} ${event.outcome}: ${event.said}`;
  if (event.kind === 'batch end') return `batches ${event.state}`;
  if (event.kind === 'run') return `runs ${event.trigger} ${event.state}`;
  if (event.kind === 'delivery') return `deliveries ${event.state}`;
  return event.kind;
}

function add(stories: Map<number, Story>, event: Exclude<HistoryEvent, { kind: 'end' | 'fail-over' }>): void {
  const story = stories.get(event.account) ?? emptyStory();
  stories.set(event.account, story);
  if (event.kind === 'account') story.granted = event;
  else if (event.kind === 'exchange') story.exchanges.push(event);
  else if (event.kind === 'ledger') story.ledger.push(...event.lines);
  else if (event.kind === 'quota') story.quotas.push(event.quota);
  else if (event.kind === 'usage') story.usage.push(...event.rows);
  else if (event.kind === 'batch') story.wanted.push(event);
  else if (event.kind === 'retry') story.retries.push(event);
  else if (event.kind === 'tick') story.ticks.push(event);
  else if (event.kind === 'message') story.messages.push(event);
  else if (event.kind === 'batch end') story.batches.push(event);
  else if (event.kind === 'run') story.runs.push(event);
  else story.deliveries.push(event);
}

function emptyStory(): Story {
  return {
    ...{ granted: null, exchanges: [], ledger: [], quotas: [], usage: [] },
    ...{ wanted: [], retries: [], ticks: [], messages: [], batches: [], runs: [], deliveries: [] },
  };
}

function judgeStory(
  story: Story,
  books: Books,
  { endAt, failOvers }: { endAt: number; failOvers: readonly number[] },
): Fault[] {
  const { exchanges, quotas, messages } = story;
  const hasBatches = story.wanted.length + story.batches.length > 0;
  return [
    ...books.faults,
    ...quotas.flatMap((quota) => books.compareQuota(quota, endAt)),
    ...judgeUsage(story, books),
    ...(hasBatches ? [] : judgeAnswers(books.calls, exchanges, messages, failOvers)),
    ...judgeRevoked(exchanges),
    ...judgeBackground(books.calls, story),
  ];
}

/** The usage that an account reads is the sum of the charges in its ledger, by the day of the admission. */
function judgeUsage({ usage }: Story, { calls }: Books): Fault[] {
  const booked = new Map<string, number>();
  for (const { at, operation, used } of calls.values()) {
    const day = `${new Date(at).toISOString().slice(0, 10)} ${operation}`;
    booked.set(day, (booked.get(day) ?? 0) + used);
  }
  const shown = new Map(usage.map(({ day, operation, units }) => [`${day} ${operation}`, units]));
  return [...new Set([...booked.keys(), ...shown.keys()])]
    .filter((day) => (booked.get(day) ?? 0) !== (shown.get(day) ?? 0))
    .map((day) => ({
      promise: 'the usage of a day equals the charges in the ledger',
      row: { day, shown: shown.get(day), booked: booked.get(day) },
    }));
}

/** A key is refused from the answer to its revocation on. */
function judgeRevoked(exchanges: readonly Exchange[]): Fault[] {
  const revoked = new Map<number, number>();
  for (const { what, keyId, outcome, endedAt } of exchanges)
    if (what === 'revoke' && outcome === 'answered') revoked.set(keyId, endedAt);
  return exchanges
    .filter(({ what, keyId, sentAt, outcome }) => {
      const since = revoked.get(keyId);
      return (
        what === 'call' &&
        since !== undefined &&
        sentAt > since &&
        (outcome === 'answered' || outcome === 'accepted')
      );
    })
    .map((exchange) => ({ promise: 'a revoked key is refused', row: { ...exchange } }));
}
