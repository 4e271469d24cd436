// Swagger UI, without anything from elsewhere; it keeps no key.
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

const answer = await fetch('/openapi.json');
window.SwaggerUIBundle({
  spec: forPeople(await answer.text()),
  dom_id: '#api-reference',
  deepLinking: true,
  persistAuthorization: false,
  validatorUrl: null,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  filter: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: -1,
});

/** The document as it is easiest to try. */
function forPeople(text) {
  // Bounds that every whole number has say nothing.
  const spec = JSON.parse(text, (_, value) =>
    Math.abs(value) === Number.MAX_SAFE_INTEGER ? undefined : value,
  );
  // One place for the key is enough, and a header stays out of addresses.
  const { keyHeader } = spec.components.securitySchemes;
  spec.components.securitySchemes = { keyHeader };
  spec.security = [{ keyHeader: [] }];
  // Examples are filled in and sent: only those that a call needs.
  const parameters = Object.values(spec.paths).flatMap((item) =>
    Object.values(item).flatMap((operation) => operation.parameters ?? []),
  );
  for (const parameter of [...parameters, ...Object.values(spec.components.parameters)]) {
    if (parameter.required || parameter['x-needed'] || parameter.$ref) continue;
    delete parameter.example;
    delete parameter.schema?.examples;
  }
  return spec;
}
