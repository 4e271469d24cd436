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
  ['/', 'nobody'],
  ['/sign-up', 'nobody'],
  ['/sign-in', 'nobody'],
  ['/reset-password?token=x', 'nobody'],
  ['/docs', 'nobody'],
  ['/docs/reference', 'nobody'],
  ['/account', 'session'],
  ['/account/plans', 'session'],
  ['/account/settings', 'session'],
  ['/account/try', 'session'],
  ['/account/ledger.csv', 'session'],
  ['/admin', 'operator'],
  ['/admin/sign-in', 'nobody'],
  ['/admin/queues', 'operator'],
  ['/admin/queues/api/queues?activeQueue=market&status=latest&page=1&jobsPerPage=10', 'operator'],
];

/** Forms that would end the session, or the account, of all further requests. */
const AVOIDED = /sign-out|\/state$|disable|view-as|\/as-customer|\/password$/;

const MOST_PAGES = 150;

/** Follows the links of the pages, and collects them with their forms. */
export async function crawl(fetchPage: Fetch): Promise<Found[]> {
  const found: Found[] = [];
  const waiting = [...STARTS];
  const seen = new Set<string>();
  while (waiting.length > 0 && seen.size < MOST_PAGES) {
    const [path, as] = waiting.shift() ?? ['/', 'nobody'];
    if (seen.has(`${as} ${path}`)) continue;
    seen.add(`${as} ${path}`);
    const { status, text, location } = await fetchPage(path, as);
    if (location.startsWith('/')) waiting.push([location, as]);
    if (status !== 200) continue;
    const [where = '', query = ''] = path.split('?');
    found.push({ method: 'GET', path: where, fields: [...new URLSearchParams(query)], as });
    found.push(...formsOf(text, where, as).filter((form) => !AVOIDED.test(form.path)));
    for (const [, link = ''] of text.matchAll(/<a [^>]*href="(\/[^"#]*)/g))
      if (!link.startsWith('/assets')) waiting.push([unescaped(link), as]);
  }
  return found;
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
        ...{ method, path: where, as },
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
