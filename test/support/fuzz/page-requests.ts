import fc from 'fast-check';
import { changes, encoded, type Fields, oddValue, textOf, writeQuery } from './odd-values.ts';
import { type FuzzRequest, requestChanges } from './request.ts';

/** A page or a form that a crawl has found. */
export interface Found {
  method: 'GET' | 'POST';
  path: string;
  fields: Fields;
  as: FuzzRequest['as'];
}

type Fetch = (
  path: string,
  as: FuzzRequest['as'],
) => Promise<{ status: number; text: string; location: string }>;

const STARTS: readonly (readonly [string, FuzzRequest['as']])[] = [
  ['/', 'visitor'],
  ['/sign-up', 'visitor'],
  ['/sign-in', 'visitor'],
  ['/reset-password?token=x', 'visitor'],
  ['/confirm-email?token=x', 'visitor'],
  ['/unsubscribe?token=x', 'visitor'],
  ['/invitation?token=x', 'visitor'],
  ['/docs', 'visitor'],
  ['/docs/reference', 'visitor'],
  ['/account', 'session'],
  ['/account/plans', 'session'],
  ['/account/settings', 'session'],
  ['/account/team', 'session'],
  ['/profile', 'session'],
  ['/account/try', 'session'],
  ['/account/ledger.csv', 'session'],
  ['/admin', 'operator'],
  ['/admin/claim', 'session'],
  ['/admin/queues', 'operator'],
  ['/admin/queues/api/queues?activeQueue=market&status=latest&page=1&jobsPerPage=10', 'operator'],
];

/** Forms that would end the session, or the account, of all further requests. */
const AVOIDED = /sign-out|\/state$|disable|\/password$/;

/** Pages that are fetched at the same time. */
const TOGETHER = 10;

type Start = (typeof STARTS)[number];

/** Follows the links of the pages, and collects up to `most` with their forms: in the same order in every run. */
export async function crawl(fetchPage: Fetch, most: number): Promise<Found[]> {
  const found: Found[] = [];
  const seen = new Set<string>();
  let waiting: Start[] = [...STARTS];
  while (waiting.length > 0 && seen.size < most) {
    const together = waiting.splice(0, TOGETHER).filter(([path, as]) => {
      const isNew = !seen.has(`${as} ${path}`);
      seen.add(`${as} ${path}`);
      return isNew;
    });
    const visits = await Promise.all(together.map((start) => visit(fetchPage, start)));
    found.push(...visits.flatMap((one) => one.found));
    waiting = [...waiting, ...visits.flatMap((one) => one.links)];
  }
  return found;
}

async function visit(fetchPage: Fetch, [path, as]: Start): Promise<{ found: Found[]; links: Start[] }> {
  const { status, text, location } = await fetchPage(path, as);
  const links: Start[] = location.startsWith('/') ? [[location, as]] : [];
  if (status !== 200) return { found: [], links };
  const [where = '', query = ''] = path.split('?');
  for (const [, link = ''] of text.matchAll(/<a [^>]*href="(\/[^"#]*)/g))
    if (!link.startsWith('/assets')) links.push([unescaped(link), as]);
  const forms = formsOf(text, where, as).filter((form) => !AVOIDED.test(form.path));
  return {
    found: [{ method: 'GET', path: where, fields: [...new URLSearchParams(query)], as }, ...forms],
    links,
  };
}

/** Requests to what was found, with the fields it has and others. @param csrf the token of forms. */
export function pageRequests(found: readonly Found[], csrf: string): fc.Arbitrary<FuzzRequest> {
  const posts = found.filter(({ method }) => method === 'POST');
  return fc
    .tuple(
      fc.oneof(fc.constantFrom(...found), fc.constantFrom(...posts)),
      changes,
      requestChanges,
      fc.nat(9),
      oddValue.map((value) => encoded(textOf(value)).slice(0, 300)),
    )
    .map(([{ method, path, fields, as }, change, finish, dice, segment]) => {
      const where = dice === 0 ? path.replace(/[^/]+$/, segment) : path;
      const changed = change(fields);
      if (method === 'GET') {
        const search = writeQuery(changed);
        return finish({ method, path: search ? `${where}?${search}` : where, headers: {}, as });
      }
      const token: Fields = dice === 1 ? [] : [['_csrf', csrf]];
      return finish({
        method,
        path: where,
        as,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: writeQuery([...token, ...changed]),
      });
    });
}

/** The token of the first form of a page. */
export function formToken(text: string): string {
  return unescaped(/name="_csrf" value="([^"]*)"/.exec(text)?.[1] ?? '');
}

function formsOf(text: string, page: string, as: Found['as']): Found[] {
  return [...text.matchAll(/<form ([^>]*)>(.*?)<\/form>/gs)].map(([, head = '', inner = '']) => {
    const action = unescaped(attribute(head, 'action') ?? page).split('?')[0] ?? page;
    return {
      method: /method="post"/i.test(head) ? 'POST' : 'GET',
      path: action.startsWith('/') ? action : page,
      fields: fieldsOf(inner),
      as,
    };
  });
}

function fieldsOf(inner: string): Fields {
  return [
    ...inner.matchAll(
      /<(input|textarea|select|button) ([^>]*)>(.*?)(?=<input|<textarea|<select|<button|$)/gs,
    ),
  ].flatMap(([, kind, attributes = '', rest = '']) => {
    const name = attribute(attributes, 'name');
    if (name === null || name === '_csrf') return [];
    const chosen =
      kind === 'select' ? /value="([^"]*)"/.exec(rest)?.[1] : kind === 'textarea' ? rest.split('<')[0] : null;
    const value = chosen ?? attribute(attributes, 'value') ?? exampleFor(name);
    return [[name, unescaped(value)] as const];
  });
}

function exampleFor(name: string): string {
  if (/email/.test(name)) return `visitor-${name}@target.example`;
  if (/password/.test(name)) return 'a long enough password';
  return '1';
}

function attribute(text: string, name: string): string | null {
  return new RegExp(`(?:^| )${name}="([^"]*)"`).exec(text)?.[1] ?? null;
}

function unescaped(text: string): string {
  return text
    .replaceAll('&amp;', '&')
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&#39;', "'");
}
