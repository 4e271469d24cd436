// Replaces the address in examples by the address of this service.
for (const example of document.querySelectorAll('.example code')) {
  if (example.textContent.includes('http://127.0.0.1:3000')) {
    example.textContent = example.textContent.replaceAll('http://127.0.0.1:3000', window.location.origin);
  }
}
