// Replaces the address and the key in examples: by the address of this service, and by a test key that the reader creates.
const PLACEHOLDER = 'YOUR_KEY';
/** The key stays in the memory of this tab. */
const STORED = 'souk-test-key';

fill('http://127.0.0.1:3000', window.location.origin);
const offer = document.querySelector('[data-test-key]');
const known = sessionStorage.getItem(STORED);
if (known) fill(PLACEHOLDER, known);
else if (offer && examples(PLACEHOLDER).length > 0 && document.body.classList.contains('customer')) {
  offer.hidden = false;
  offer.querySelector('button').addEventListener('click', () => void create());
}

function examples(text) {
  return [...document.querySelectorAll('.example code')].filter((code) => code.textContent.includes(text));
}

function fill(text, replacement) {
  for (const code of examples(text)) code.textContent = code.textContent.replaceAll(text, replacement);
}

/** Creates a test key with the form of the page of keys, whose answer has the key. */
async function create() {
  const status = offer.querySelector('[role=status]');
  status.textContent = 'One moment …';
  const form = (await pageAt('/account/keys')).querySelector('form[action$="/test-key"]');
  const body = form && new URLSearchParams([...new FormData(form)]);
  const page = form && (await pageAt(form.getAttribute('action'), { method: 'POST', body }));
  const key = page?.getElementById('new-key')?.textContent.trim();
  if (!key) {
    status.innerHTML = 'No key was created. The <a href="/account/keys">page of keys</a> shows why.';
    return;
  }
  sessionStorage.setItem(STORED, key);
  fill(PLACEHOLDER, key);
  status.textContent = 'The examples have a new test key. It is listed on the page of keys.';
}

async function pageAt(address, options) {
  const response = await fetch(address, { headers: { accept: 'text/html' }, ...options });
  return new DOMParser().parseFromString(await response.text(), 'text/html');
}
