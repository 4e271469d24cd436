import { request } from 'undici';
import { accountNamed, addressFor, routeOf } from '../../src/accounts/account-address.ts';

/**
 * A browser without scripts: it reads pages, keeps cookies, and sends forms with their token. Paths of customers' pages without an
 * account are for the account of the last such page.
 */
export interface Visitor {
  get(path: string): Promise<VisitedPage>;
  /** The same, and does not follow redirects. */
  open(path: string): Promise<VisitedPage>;
  /** Sends a form with the token of the last page that had one, and follows redirects. */
  post(path: string, fields: FormFields): Promise<VisitedPage>;
  /** Sends a form with the given token, and does not follow redirects. */
  send(path: string, fields: Record<string, string>): Promise<VisitedPage>;
  cookies: Map<string, string>;
}

/** The fields of a form. One with a file is sent as `multipart/form-data`. */
type FormFields = Record<string, string | File>;

export interface VisitedPage {
  status: number;
  /** Without the account that the address names. */
  path: string;
  /** With the account. */
  address: string;
  headers: Record<string, string | string[] | undefined>;
  /** Without the account in addresses, as `path`. */
  html: string;
  /** As it was sent. */
  sentHtml: string;
  /** The text of the page, with single spaces. */
  text: string;
}

/** The value of a field in a form, such as its token `_csrf`. */
export function fieldIn(html: string, name: string): string {
  return new RegExp(`name="${name}" value="([^"]+)"`).exec(html)?.[1] ?? '';
}

/** @param headers sent with every request. */
export function createVisitor(baseUrl: string, headers: Record<string, string> = {}): Visitor {
  const cookies = new Map<string, string>();
  let token = '';
  let account: number | null = null;

  async function ask(path: string, fields?: FormFields): Promise<VisitedPage> {
    const sent = fields && bodyOf(fields);
    const answer = await request(`${baseUrl}${path}`, {
      method: fields ? 'POST' : 'GET',
      headers: {
        ...headers,
        accept: 'text/html',
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(sent ? { 'content-type': sent.headers.get('content-type') ?? '' } : {}),
      },
      ...(sent ? { body: Buffer.from(await sent.arrayBuffer()) } : {}),
    });
    for (const cookie of [answer.headers['set-cookie'] ?? []].flat()) {
      const [pair = ''] = cookie.split(';', 1);
      const [name = '', value = ''] = pair.split('=', 2);
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    const html = await answer.body.text();
    token = fieldIn(html, '_csrf') || token;
    const [, home = ''] = /class="brand" href="([^"]+)"/.exec(html) ?? [];
    account = accountNamed(home) ?? accountNamed(path) ?? account;
    const { statusCode: status, headers: answered } = answer;
    return {
      status,
      path: routeOf(path),
      address: path,
      headers: answered,
      html: unnamed(html),
      sentHtml: html,
      text: textOf(html),
    };
  }

  async function follow(page: VisitedPage): Promise<VisitedPage> {
    const { location } = page.headers;
    if (page.status !== 303 || typeof location !== 'string') return page;
    const { pathname, search } = new URL(location, baseUrl);
    return follow(await ask(`${pathname}${search}`));
  }

  /** A form is sent to the pages of an account, which a first page finds. */
  async function named(path: string): Promise<string> {
    const isNamed = /^\/(account|explore)(?=[/?]|$)/.test(path) && cookies.size > 0;
    if (isNamed && account === null) await follow(await ask('/account'));
    return isNamed && account !== null ? addressFor(account, path) : path;
  }

  return {
    cookies,
    open: (path) => ask(path),
    get: async (path) => follow(await ask(account === null ? path : addressFor(account, path))),
    post: async (path, fields) => follow(await ask(await named(path), { _csrf: token, ...fields })),
    send: async (path, fields) => ask(await named(path), fields),
  };
}

/** A response is the shortest way to the bytes and the type of a form. */
function bodyOf(fields: FormFields): Response {
  const texts = Object.entries(fields).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  if (texts.length === Object.keys(fields).length) return new Response(new URLSearchParams(texts));
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return new Response(form);
}

function unnamed(html: string): string {
  return html.replace(/(?<=["'])\/account\/(?:test-)?\d[^"'#?]*/g, routeOf);
}

function textOf(html: string): string {
  const entities: Record<string, string> = {
    '&lt;': '<',
    '&gt;': '>',
    '&quot;': '"',
    '&#39;': "'",
    '&amp;': '&',
  };
  return html
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? entity)
    .replace(/\s+/g, ' ')
    .trim();
}
