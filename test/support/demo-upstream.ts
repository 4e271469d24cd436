import type { Demo } from './demo-provider.ts';
import type { Script, ScriptedUpstream } from './scripted-upstream.ts';
import { words } from './words.ts';

const PATHS = [
  ...words(`
    product graphimage search query category bestsellers deal seller trends/explore trends/api/explore
    _/TrendsUi/data/batchexecute trending/rss
  `),
  ...['multiline', 'comparedgeo', 'relatedsearches'].map((kind) => `trends/api/widgetdata/${kind}`),
];

/** Returns the script that answers as a demo provider does. */
export function asDemo(demo: Demo): Script {
  return async ({ method, path, params, body, cookie }) => {
    const address = `/${path}?${new URLSearchParams(params)}`;
    const type = body.startsWith('{') ? 'application/json' : 'application/x-www-form-urlencoded';
    const post = { method: 'POST' as const, headers: { cookie, 'content-type': type }, body };
    const { status, headers, bytes } = await demo.raw(
      address,
      method === 'POST' ? post : { headers: { cookie } },
    );
    const { 'set-cookie': cookies } = headers;
    return {
      status,
      raw: bytes,
      contentType: String(headers['content-type']),
      headers: cookies ? { 'set-cookie': [cookies].flat().join() } : {},
    };
  };
}

/** Lets an upstream answer all calls of the pages for looking at data as a demo provider does. */
export function answersAsDemo(upstream: ScriptedUpstream, demo: Demo): void {
  for (const path of PATHS) upstream.on(path, asDemo(demo));
}
