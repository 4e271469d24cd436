import { z } from 'zod';
import type { Trend } from '../../operations/trends/trend.ts';
import { parseJson } from '../../platform/json.ts';
import { guardedText } from './guarded-json.ts';
import { Refusal } from './refusal.ts';

/** The remote procedure that lists trends. */
export const TRENDING_RPC = 'i0OFE';

/** Returns the form field that calls it. */
export function trendingCall(question: {
  geo: string;
  language: string;
  hours: number;
  articles: number;
}): string {
  const { geo, language, hours, articles } = question;
  const args = JSON.stringify([null, null, geo, articles, language, hours]);
  return JSON.stringify([[[TRENDING_RPC, args, null, 'generic']]]);
}

const END_OF_9999 = 253_402_300_799;

/** Unix seconds within the range of dates. */
const moment = z.tuple([z.int().min(0).max(END_OF_9999)], z.unknown());
const article = z
  .tuple([z.string(), z.string()], z.unknown())
  .transform(([title, url, source, time, imageUrl]) => ({
    title,
    url,
    source: typeof source === 'string' ? source : '',
    publishedAt: moment.safeParse(time).data?.[0] ?? null,
    imageUrl: typeof imageUrl === 'string' ? imageUrl : null,
  }));

/** An item has 13 slots, of which some are unused. */
const item = z
  .array(z.unknown())
  .min(10)
  .transform((slots, context): Trend => {
    const [title, articles, , start, end, , volume, , growth, queries, topicIds] = slots;
    const result = facts.safeParse({ title, articles, start, end, volume, growth, queries, topicIds });
    if (!result.success) {
      context.issues.push({ code: 'custom', message: result.error.message, input: slots });
      return z.NEVER;
    }
    const { data } = result;
    return {
      title: data.title,
      startedAt: data.start[0],
      endedAt: data.end?.[0] ?? null,
      active: !data.end,
      searchVolume: data.volume,
      increasePercentage: data.growth,
      topicIds: data.topicIds ?? [],
      queries: data.queries ?? [],
      articles: data.articles ?? [],
    };
  });

const facts = z.object({
  title: z.string(),
  articles: z.array(article).nullish(),
  start: moment,
  end: moment.nullish(),
  volume: z.number().min(0),
  growth: z.number(),
  queries: z.array(z.string()).nullish(),
  topicIds: z.array(z.number()).nullish(),
});

const payload = z.tuple([z.unknown(), z.array(item).nullish()], z.unknown());

/**
 * Reads the trends of an answer, which is one JSON array or a stream of arrays, each preceded by a line with its length.
 * The lengths are ignored, since every part is one line.
 * @throws Refusal `badArgument` when the answer rejects the arguments with HTTP 200.
 */
export function readTrending(body: Buffer): Trend[] {
  const row = rowsOf(guardedText(body)).find(([kind, rpc]) => kind === 'wrb.fr' && rpc === TRENDING_RPC);
  if (!row) throw new Refusal('malformed', 'the answer has no result of the call');
  const [, , text, , , error] = row;
  if (typeof text !== 'string') {
    const said = `HTTP 200 with error ${JSON.stringify(error)}`;
    throw new Refusal(isBadArgument(error) ? 'badArgument' : 'failed', said);
  }
  const result = payload.safeParse(parsed(text));
  if (!result.success) throw new Refusal('malformed', `unexpected list of trends at ${pathOf(result.error)}`);
  return result.data[1] ?? [];
}

const BAD_ARGUMENT = 3;

function isBadArgument(error: unknown): boolean {
  return Array.isArray(error) && error[0] === BAD_ARGUMENT;
}

function rowsOf(text: string): unknown[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('['))
    .flatMap((line) => {
      const rows = parsed(line);
      return Array.isArray(rows) ? rows.filter((row): row is unknown[] => Array.isArray(row)) : [];
    });
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new Refusal('malformed', 'the answer breaks off', { cause });
  }
}

function pathOf({ issues }: z.ZodError): string {
  return issues[0]?.path.join('.') ?? '';
}
