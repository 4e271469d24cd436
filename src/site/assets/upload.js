// Files can be dropped anywhere on a page with a file input: <input type="file" data-drop>. The form then shows the price.
const input = document.querySelector('input[type=file][data-drop]');

if (input) {
  document.addEventListener('dragover', (event) => event.preventDefault());
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length === 0) return;
    input.files = event.dataTransfer.files;
    input.form.requestSubmit(input.form.querySelector('button[value=price]'));
  });
}
