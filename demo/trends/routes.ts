import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Clock, sleep } from '../../src/platform/clock.ts';
import type { DemoSettings } from '../settings.ts';
import { explore, isTokenGood } from './explore.ts';
import { isKnownGeo } from './regions.ts';
import { feedOf, slotsOf, trendsOf } from './trending.ts';
import { comparedgeo, multiline, relatedsearches, type WidgetData } from './widget-data.ts';

const WIDGET_DATA: Record<string, WidgetData> = { multiline, comparedgeo, relatedsearches };

const RPC = 'i0OFE';
const LONGEST_WINDOW_HOURS = 191;
const FEED_HOURS = 24;

/** The Trends site with generated data: a keyword always has the same history. */
export async function trendsRoutes(
  app: FastifyInstance,
  { settings, clock }: { settings: DemoSettings; clock: Clock },
): Promise<void> {
  app.addHook('onRequest', async (_request, reply) => {
    if (settings.DEMO_LATENCY_MS > 0) await sleep(clock, settings.DEMO_LATENCY_MS);
    if (Math.random() < settings.DEMO_FAIL_RATE) return sendPage(reply, 503);
  });
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );

  // Clients need the page only for its cookie.
  app.get('/trends/explore', (_request, reply) => sendPage(withCookie(reply), 429));

  app.route({
    method: ['GET', 'POST'],
    url: '/trends/api/explore',
    handler(request, reply) {
      const { req, hl } = paramsOf(request);
      const answer = explore(parsed(req), hl, clock.now());
      if (!answer) return sendPage(reply, 400);
      if (!/\bNID=/.test(request.headers.cookie ?? '')) return sendPage(withCookie(reply), 429);
      return sendJson(reply, ")]}'\n", answer);
    },
  });

  app.get('/trends/api/widgetdata/:kind', (request, reply) => {
    const { kind } = request.params as { kind: string };
    const { req, hl, tz, token } = paramsOf(request);
    const read = WIDGET_DATA[kind];
    if (!read) return sendPage(reply, 404);
    const asked = parsed(req);
    const nowMs = clock.now();
    if (typeof asked !== 'object' || asked === null) return sendPage(reply, 400);
    if (!isTokenGood(token, asked, nowMs)) return sendPage(reply, 401);
    const answer = read(asked, { hl, tz, nowMs });
    return answer ? sendJson(reply, ")]}',\n", answer) : sendPage(reply, 400);
  });

  app.post('/_/TrendsUi/data/batchexecute', (request, reply) => {
    const { 'f.req': call } = (request.body ?? {}) as Record<string, string | undefined>;
    const items = trending(call, clock.now());
    const result = items && JSON.stringify([null, items]);
    const rows = [
      ['wrb.fr', RPC, result, null, null, items ? null : [3], 'generic'],
      ['di', 14],
      ['af.httprm', 14, '1234567890', 7],
    ];
    return sendJson(reply, ")]}'\n\n", rows);
  });

  app.get('/trending/rss', (request, reply) => {
    const { geo = '' } = request.query as Record<string, string | undefined>;
    if (!isKnownGeo(geo)) return sendPage(reply, 400);
    const address = `${request.protocol}://${request.host}${request.url}`;
    const xml = feedOf(trendsOf(geo, FEED_HOURS, clock.now()), address);
    return reply.header('content-type', 'text/xml; charset=utf-8').send(xml);
  });
}

const rpcSchema = z.tuple([z.tuple([z.tuple([z.literal(RPC), z.string()], z.unknown())])]);

/** @returns null for invalid arguments. */
function trending(call: string | undefined, nowMs: number): unknown[] | null {
  const rpcCall = rpcSchema.safeParse(parsed(call)).data?.[0][0];
  const args = parsed(rpcCall?.[1]);
  if (!Array.isArray(args)) return null;
  const [, , geo, articles, language, hours] = args as unknown[];
  const isUnderstood =
    typeof geo === 'string' &&
    isKnownGeo(geo) &&
    typeof articles === 'number' &&
    typeof hours === 'number' &&
    hours >= 1 &&
    hours <= LONGEST_WINDOW_HOURS;
  if (!isUnderstood) return null;
  return trendsOf(geo, hours, nowMs).map((trend) => slotsOf(trend, String(language), articles));
}

function paramsOf({ query }: FastifyRequest) {
  const { req, token, hl = 'en-US', tz = '0' } = query as Record<string, string | undefined>;
  return { req, token, hl: isLocale(hl) ? hl : 'en-US', tz: Number(tz) || 0 };
}

function isLocale(hl: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(hl).length > 0;
  } catch {
    return false;
  }
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return null;
  }
}

function withCookie(reply: FastifyReply): FastifyReply {
  const value = `511=${randomBytes(48).toString('base64url')}`;
  return reply.header('set-cookie', `NID=${value}; path=/; Secure; HttpOnly`);
}

function sendPage(reply: FastifyReply, status: number): FastifyReply {
  const html = `<html lang="en"><title>Error ${status}</title><p><b>${status}.</b> That is an error.</html>`;
  return reply.code(status).header('content-type', 'text/html; charset=utf-8').send(html);
}

/** Sends JSON as upstream does: ASCII only, with HTML characters escaped. */
function sendJson(reply: FastifyReply, guard: string, value: unknown): FastifyReply {
  const text = JSON.stringify(value).replaceAll(
    /[=&<>'\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return reply.header('content-type', 'application/json; charset=UTF-8').send(guard + text);
}
