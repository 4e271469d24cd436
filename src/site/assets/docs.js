// Examples name the address of this very service.
for (const example of document.querySelectorAll('.example code')) {
  if (example.textContent.includes('http://127.0.0.1:3000')) {
    example.textContent = example.textContent.replaceAll('http://127.0.0.1:3000', window.location.origin);
  }
}
