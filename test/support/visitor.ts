import { request } from 'undici';

/** A browser without scripts: it reads pages, keeps cookies, and sends forms with their token. */
export interface Visitor {
  get(path: string): Promise<VisitedPage>;
  /** Sends a form with the token of the last page that had one, and follows redirects. */
  post(path: string, fields: Record<string, string>): Promise<VisitedPage>;
  /** Sends a form with the given token, and does not follow redirects. */
  send(path: string, fields: Record<string, string>): Promise<VisitedPage>;
  cookies: Map<string, string>;
}

export interface VisitedPage {
  status: number;
  path: string;
  headers: Record<string, string | string[] | undefined>;
  html: string;
  /** The text of the page, with single spaces. */
  text: string;
}

/** @param headers sent with every request. */
export function createVisitor(baseUrl: string, headers: Record<string, string> = {}): Visitor {
  const cookies = new Map<string, string>();
  let token = '';

  async function ask(path: string, fields?: Record<string, string>): Promise<VisitedPage> {
    const answer = await request(`${baseUrl}${path}`, {
      method: fields ? 'POST' : 'GET',
      headers: {
        ...headers,
        accept: 'text/html',
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(fields ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
      },
      ...(fields ? { body: new URLSearchParams(fields).toString() } : {}),
    });
    for (const cookie of [answer.headers['set-cookie'] ?? []].flat()) {
      const [pair = ''] = cookie.split(';', 1);
      const [name = '', value = ''] = pair.split('=', 2);
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    const html = await answer.body.text();
    token = /name="_csrf" value="([^"]+)"/.exec(html)?.[1] ?? token;
    return { status: answer.statusCode, path, headers: answer.headers, html, text: textOf(html) };
  }

  async function follow(page: VisitedPage): Promise<VisitedPage> {
    const { location } = page.headers;
    if (page.status !== 303 || typeof location !== 'string') return page;
    const { pathname, search } = new URL(location, baseUrl);
    return follow(await ask(`${pathname}${search}`));
  }

  return {
    cookies,
    get: async (path) => follow(await ask(path)),
    post: async (path, fields) => follow(await ask(path, { _csrf: token, ...fields })),
    send: (path, fields) => ask(path, fields),
  };
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
