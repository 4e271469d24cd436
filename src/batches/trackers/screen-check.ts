import type { ClientBase } from 'pg';
import { z } from 'zod';
import { isTestAccount } from '../../accounts/authentication.ts';
import { type TermFigures, termFigures } from '../../brand-analytics/term-figures.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import type { WebhookLimits } from '../../outbox/webhooks/webhook-limits.ts';
import { fingerprint } from '../../platform/fingerprint.ts';
import type { ItemResult } from '../results.ts';
import { type Alert, insertAlerts } from './alert.ts';
import { announce, type LockedTracker } from './check.ts';
import type { SavedScreen } from './read-tracker.ts';
import { type Reason, reasonsOf } from './screen-reason.ts';

/** What the last run of a screen has found. */
export const screenResultSchema = z
  .object({
    week: z.iso.date().describe('Week of the last run'),
    total: z.int().describe('Terms of the week that match'),
    terms: z.int().describe('Terms that the tracker compares: the first limit ones in the order of sort'),
    comparedWith: z.iso.date().nullable().describe('Week of the run before; null for the first run'),
    entered: z.int().describe('Terms that entered since the run before'),
    left: z.int().describe('Terms that left since the run before'),
  })
  .register(SCHEMA_NAMES, { id: 'ScreenResult' });

export type ScreenResult = z.output<typeof screenResultSchema>;

/** The terms of the last run. At most 1,000, which is the highest limit of a screen. */
interface KnownTerms {
  week: string;
  terms: TermFigures[];
}

/** What a run reads of an answer of research.screen. */
const screenAnswer = z.object({
  week: z.string(),
  total: z.number(),
  rows: z.array(
    z.object({
      wordId: z.number(),
      keyword: z.string(),
      rank: z.number(),
      change4: z.number().nullable(),
      change12: z.number().nullable(),
      clickShare: z.number().nullable(),
      conversionShare: z.number().nullable(),
      firstSeen: z.string(),
    }),
  ),
});

/**
 * Compares the terms of a screen with those of the run before, and stores them, the alerts and the webhook events. It runs in the
 * transaction that collects the call, so a result is compared once. The first run makes no alerts.
 */
export async function compareScreen(
  client: ClientBase,
  tracker: LockedTracker & { screen: SavedScreen },
  { batchId, result: { raw, data } }: { batchId: string; result: Pick<ItemResult, 'raw' | 'data'> },
  limits: WebhookLimits,
  now: number,
): Promise<void> {
  const { scheduleId: trackerId, accountId, domain, screen } = tracker;
  const { week, total, rows: terms } = screenAnswer.parse(data);
  const { week: _week, ...asked } = raw as SavedScreen & { week?: string };
  // A run that began before a change of the screen says nothing about the present one.
  if (fingerprint(asked) !== fingerprint(screen)) return;
  const known = await knownTerms(client, trackerId);
  if (known && known.week > week) return;
  const site = { isTest: isTestAccount(accountId), domain };
  const entered = known ? without(terms, known.terms) : [];
  const left = known ? without(known.terms, terms) : [];
  const then =
    known && entered.length > 0
      ? await termFigures(client, { ...site, week: known.week }, ids(entered))
      : null;
  const present = left.length > 0 ? await termFigures(client, { ...site, week }, ids(left)) : null;
  const about = { trackerId, batchId, createdAt: now };
  const alerts = [
    ...entered.map((after) => {
      const moved = { before: then?.get(after.wordId) ?? null, after };
      return { ...about, ...alertOf(after, 'screen_entered', reasonsOf(screen, moved, 'before')) };
    }),
    ...left.map((before) => {
      const moved = { before, after: present?.get(before.wordId) ?? null };
      return { ...about, ...alertOf(before, 'screen_left', reasonsOf(screen, moved, 'after')) };
    }),
  ];
  const result: ScreenResult = {
    week,
    total,
    terms: terms.length,
    comparedWith: known?.week ?? null,
    entered: entered.length,
    left: left.length,
  };
  await store(client, trackerId, { terms: { week, terms }, result });
  await announce(client, tracker, await insertAlerts(client, alerts), limits, now);
}

function alertOf(
  { wordId, keyword }: TermFigures,
  type: 'screen_entered' | 'screen_left',
  reasons: readonly Reason[],
): Omit<Alert, 'alertId' | 'trackerId' | 'batchId' | 'createdAt'> {
  const [first] = reasons;
  return {
    item: String(wordId),
    title: keyword,
    condition: { type },
    before: first?.before ?? null,
    after: first?.after ?? null,
    threshold: typeof first?.bound === 'number' ? first.bound : null,
    reasons,
  };
}

const ids = (terms: readonly TermFigures[]) => terms.map(({ wordId }) => wordId);

function without(terms: readonly TermFigures[], others: readonly TermFigures[]): TermFigures[] {
  const known = new Set(ids(others));
  return terms.filter(({ wordId }) => !known.has(wordId));
}

async function knownTerms(client: ClientBase, trackerId: string): Promise<KnownTerms | null> {
  const { rows } = await client.query<{ states: KnownTerms }>(
    `select states from tracker_states where tracker_id = $1 and item = 'terms' for update`,
    [trackerId],
  );
  return rows[0]?.states ?? null;
}

/** Stores the terms and the result of a run, each as the state of an item. */
async function store(
  client: ClientBase,
  trackerId: string,
  states: { terms: KnownTerms; result: ScreenResult },
): Promise<void> {
  await client.query(
    `insert into tracker_states (tracker_id, item, states) select $1, key, value from jsonb_each($2)
     on conflict (tracker_id, item) do update set states = excluded.states`,
    [trackerId, JSON.stringify(states)],
  );
}
