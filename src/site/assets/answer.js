// Shows JSON with one field per line, and other texts as they are: <pre data-answer="address"><code></code></pre>. Digits are not
// parsed, because JSON.parse would round ids beyond 2^53.

/** Longer answers are cut. */
const MAX_CHARACTERS = 400_000;

showNew();
// Answers are also formatted after a part of the page was refreshed, because it may contain one.
new MutationObserver(showNew).observe(document.getElementById('main'), { childList: true, subtree: true });

function showNew() {
  for (const pre of document.querySelectorAll('pre[data-answer][hidden]')) void writeOut(pre);
}

async function writeOut(pre) {
  const code = pre.querySelector('code');
  pre.hidden = false;
  pre.tabIndex = 0;
  code.textContent = 'Loading …';
  try {
    const response = await fetch(pre.dataset.answer);
    if (!response.ok) throw new Error(response.statusText);
    const type = response.headers.get('content-type') ?? '';
    if (!/json|^text\//.test(type)) {
      await response.body.cancel();
      code.textContent = 'The answer is a file. Download it.';
      return;
    }
    const shown = type.startsWith('application/json') ? pretty : (text) => text;
    const text = await response.text();
    const rest = text.length - MAX_CHARACTERS;
    code.textContent =
      rest > 0
        ? `${shown(text.slice(0, MAX_CHARACTERS))}\n… and ${rest.toLocaleString('en')} more characters. Download the answer to see all of it.`
        : shown(text);
  } catch {
    code.textContent = 'The answer could not be loaded. Download it, or try again.';
  }
}

function pretty(text) {
  let result = '';
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  // A string, a punctuation mark, or the text between them. A cut string has no closing quote.
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    if (token === '{' || token === '[') {
      depth += 1;
      result += token + line();
    } else if (token === '}' || token === ']') {
      depth -= 1;
      const isEmpty = /[{[]\s*$/.test(result.slice(-200));
      result = isEmpty ? result.trimEnd() + token : result + line() + token;
    } else if (token === ',') result += token + line();
    else if (token === ':') result += ': ';
    else result += token;
  }
  return result;
}
