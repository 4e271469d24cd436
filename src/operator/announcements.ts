import { z } from 'zod';
import type { Queryable } from '../platform/db/pool.ts';
import { type Polled, polled } from '../platform/polled.ts';
import type { Stores } from '../platform/stores.ts';
import { instant } from './fields.ts';

/** A message of the operator that pages show for some time. */
export interface Announcement {
  id: number;
  text: string;
  link: string | null;
  level: 'info' | 'warning';
  audience: 'everyone' | 'signed-in';
  startsAt: Date;
  endsAt: Date;
}

const READ_EVERY_MS = 30_000;

/** The most announcements that are shown at the same time. */
const MAX_SHOWN = 5;

/** The fields of a new announcement, read from text. */
export const announcementFields = z.object({
  text: z
    .string({ error: 'is required' })
    .trim()
    .min(1, 'is required')
    .max(500, 'must have at most 500 characters')
    .regex(/^\P{C}*$/u, 'must not have control characters or line breaks'),
  link: z
    .union(
      [
        z.literal('').transform(() => null),
        z.string().regex(/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/),
        z.url({ protocol: /^https?$/ }),
      ],
      'must be an address such as https://example.com/news or /docs',
    )
    .nullable()
    .default(null),
  level: z.enum(['info', 'warning'], 'must be info or warning').default('info'),
  audience: z.enum(['everyone', 'signed-in'], 'must be everyone or signed-in').default('everyone'),
  /** Default: now. */
  from: instant.optional(),
  until: instant,
});

export type NewAnnouncement = z.output<typeof announcementFields>;

/** Creates an announcement. @returns null if it would end before it starts, or has ended. */
export async function createAnnouncement(
  database: Queryable,
  { text, link, level, audience, from, until }: NewAnnouncement,
  now: number,
): Promise<Announcement | null> {
  const startsAt = from ?? new Date(now);
  if (until <= startsAt || until.getTime() <= now) return null;
  const { rows } = await database.query<Announcement>(
    `insert into announcements (text, link, level, audience, starts_at, ends_at)
     values ($1, $2, $3, $4, $5, $6) returning ${COLUMNS}`,
    [text, link, level, audience, startsAt, until],
  );
  return rows[0] ?? null;
}

/** Ends an announcement now. One that has not started yet is deleted. @returns null if there is no such announcement that has not ended. */
export async function endAnnouncement(
  database: Queryable,
  id: number,
  now: number,
): Promise<Announcement | null> {
  const values = [id, new Date(now)];
  const { rows: deleted } = await database.query<Announcement>(
    `delete from announcements where id = $1 and starts_at >= $2 returning ${COLUMNS}`,
    values,
  );
  if (deleted[0]) return deleted[0];
  const { rows } = await database.query<Announcement>(
    `update announcements set ends_at = $2 where id = $1 and ends_at > $2 returning ${COLUMNS}`,
    values,
  );
  return rows[0] ?? null;
}

/** Returns the announcements that are kept, the newest first. */
export async function listAnnouncements(database: Queryable): Promise<Announcement[]> {
  const { rows } = await database.query<Announcement>(
    `select ${COLUMNS} from announcements order by id desc limit 100`,
  );
  return rows;
}

/** Reads the announcements for the pages of this gateway, so that a page causes no query. */
export function pollAnnouncements(deps: Pick<Stores, 'database' | 'clock' | 'log'>): Polled<Announcement[]> {
  const { database, clock } = deps;
  return polled<Announcement[]>(
    deps,
    { name: 'announcements', everyMs: READ_EVERY_MS, initial: [] },
    async () => {
      const { rows } = await database.query<Announcement>(
        `select ${COLUMNS} from announcements where ends_at > $1 order by id desc limit 100`,
        [new Date(clock.now())],
      );
      return rows;
    },
  );
}

/** The announcements that a page shows at a time, the newest first. */
export function shownAt(
  announcements: readonly Announcement[],
  now: number,
  { isSignedIn, dismissed }: { isSignedIn: boolean; dismissed: ReadonlySet<number> },
): Announcement[] {
  return announcements
    .filter(({ startsAt, endsAt }) => startsAt.getTime() <= now && now < endsAt.getTime())
    .filter(({ audience }) => audience === 'everyone' || isSignedIn)
    .filter(({ id }) => !dismissed.has(id))
    .slice(0, MAX_SHOWN);
}

const COLUMNS = 'id, text, link, level, audience, starts_at as "startsAt", ends_at as "endsAt"';
