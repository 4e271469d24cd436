// Writes answers out, a field a line: <pre data-answer="address"><code></code></pre>. Digits stay as they were sent, so
// that ids beyond 2^53 are right; JSON.parse would round them.

/** More than this is for programs, not for reading. */
const MOST_CHARACTERS = 400_000;

showNew();
// What is brought up to date may end with an answer.
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
    const text = await response.text();
    const rest = text.length - MOST_CHARACTERS;
    code.textContent =
      rest > 0
        ? `${pretty(text.slice(0, MOST_CHARACTERS))}\n… and ${rest.toLocaleString('en')} characters more: download the answer to see all of it.`
        : pretty(text);
  } catch {
    code.textContent = 'The answer could not be loaded. Download it, or try again.';
  }
}

function pretty(text) {
  let result = '';
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  // A string, a bracket or comma or colon, or whatever is between them. A cut string has no end.
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
