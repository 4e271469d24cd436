import type { VNode } from 'preact';
import { stringifyJson } from '../../platform/json.ts';
import { SmallLink } from '../kit/elements.tsx';
import { addressOf } from '../kit/list-page.tsx';
import { curlLine, type TryRequest } from './try-request.ts';

/** The request of a call in three languages, with a placeholder for the key. */
export function examplesOf(
  request: TryRequest,
  baseUrl: string,
): readonly (readonly [language: string, code: string])[] {
  const { method, url, body } = request;
  const address = JSON.stringify(`${baseUrl}${url}`);
  const json = body ? stringifyJson(body) : null;
  const type = json === null ? '' : `, 'Content-Type': 'application/json'`;
  return [
    ['curl', curlLine(request, baseUrl)],
    [
      'TypeScript',
      `const response = await fetch(${address}, {
  method: '${method}',
  headers: { 'X-API-Key': 'YOUR_KEY'${type} },${json === null ? '' : `\n  body: ${JSON.stringify(json)},`}
});
const { data } = await response.json();`,
    ],
    [
      'Python',
      `import json, urllib.request

request = urllib.request.Request(
    ${address},
    method="${method}",
    headers={"X-API-Key": "YOUR_KEY"${json === null ? '' : ', "Content-Type": "application/json"'}},${json === null ? '' : `\n    data=${JSON.stringify(json)}.encode(),`}
)
data = json.load(urllib.request.urlopen(request))["data"]`,
    ],
  ];
}

/** The same call in other programs. @param props.name of the call on its page. */
export function CallExamples(props: { name: string; request: TryRequest; baseUrl: string }): VNode {
  const { name, request, baseUrl } = props;
  return (
    <details>
      <summary>Show as curl, TypeScript and Python</summary>
      {examplesOf(request, baseUrl).map(([language, code]) => {
        const id = `${name}-${language.toLowerCase()}`;
        return (
          <div key={id} class="example">
            <p>{language}</p>
            <button type="button" class="small copy" data-copy={id} hidden>
              Copy
            </button>
            <pre class="wrap">
              <code id={id}>{code}</code>
            </pre>
          </div>
        );
      })}
    </details>
  );
}

/** The link to the form of a new schedule that repeats a call. */
export function RepeatLink(props: {
  title: string;
  operation: string;
  parameters: Readonly<Record<string, unknown>>;
}): VNode {
  const { title: name, operation, parameters } = props;
  const items = stringifyJson(parameters);
  const fields = { name, operation, layout: 'ndjson', items, 'p.decode': 'false' };
  return <SmallLink to={addressOf('/account/schedules/new', fields)}>Repeat on a schedule</SmallLink>;
}
