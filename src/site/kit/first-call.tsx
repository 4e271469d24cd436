import type { VNode } from 'preact';

const EXAMPLE_PATH = '/api/market/product?country=us&asins=B08N5WRWNX&detailLevel=summary';

/** The same call in three languages, with a key. It costs one unit. */
export function FirstCall({ apiKey, baseUrl }: { apiKey: string; baseUrl: string }): VNode {
  const url = `${baseUrl}${EXAMPLE_PATH}`;
  const examples = [
    ['curl', 'curl', `curl -H "X-API-Key: ${apiKey}" "${url}"`],
    [
      'typescript',
      'TypeScript',
      `const response = await fetch(
  '${url}',
  { headers: { 'X-API-Key': '${apiKey}' } },
);
const { data } = await response.json();
console.log(data.products[0].title, data.products[0].price);`,
    ],
    [
      'python',
      'Python',
      `import requests

response = requests.get(
    "${url}",
    headers={"X-API-Key": "${apiKey}"},
)
product = response.json()["data"]["products"][0]
print(product["title"], product["price"])`,
    ],
  ] as const;
  return (
    <div class="examples">
      {examples.map(([id, language, code], i) => (
        <details key={id} name="first-call" open={i === 0}>
          <summary>{language}</summary>
          <pre class="wrap">
            <code id={`first-call-${id}`}>{code}</code>
          </pre>
          <button type="button" class="small" data-copy={`first-call-${id}`} hidden>
            Copy
          </button>
        </details>
      ))}
    </div>
  );
}
