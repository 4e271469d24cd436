import { ALLOWED } from './oauth-program.ts';
import { fieldIn, type VisitedPage, type Visitor } from './visitor.ts';

/** Opens the address that a device shows, compares the code, and decides. @returns the last page. */
export async function allowDevice(
  visitor: Visitor,
  address: string,
  fields: Record<string, string>,
): Promise<VisitedPage> {
  const { pathname, search } = new URL(address);
  const input = await visitor.get(`${pathname}${search}`);
  const sent = await visitor.send(pathname, formOf(input));
  const consent = await follow(visitor, await visitor.send(pathname, { ...formOf(sent), confirm: 'yes' }));
  const token = fieldIn(consent.html, '_csrf');
  return follow(visitor, await visitor.send(consent.path, { _csrf: token, ...ALLOWED, ...fields }));
}

/** The hidden fields of the form of the authorization server. */
function formOf({ html, text }: VisitedPage): Record<string, string> {
  const [, xsrf] = /name="xsrf" value="([^"]+)"/.exec(html) ?? [];
  const [, code] = /name="user_code" value="([^"]+)"/.exec(html) ?? [];
  if (!xsrf || !code) throw new Error(`not a page with a code: ${text}`);
  return { xsrf, user_code: code };
}

async function follow(visitor: Visitor, page: VisitedPage): Promise<VisitedPage> {
  const { location } = page.headers;
  if (page.status !== 303 || typeof location !== 'string') return page;
  const { pathname, search } = new URL(location, 'http://service');
  return follow(visitor, await visitor.open(`${pathname}${search}`));
}
