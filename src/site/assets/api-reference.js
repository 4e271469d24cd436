// Starts Swagger UI, which loads nothing from other sites and stores no key.
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

const answer = await fetch('/openapi.json');
window.SwaggerUIBundle({
  spec: simplified(await answer.text()),
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

/** Simplifies the OpenAPI document for trying calls. */
function simplified(text) {
  // Omits bounds that every safe integer fulfils.
  const spec = JSON.parse(text, (_, value) =>
    Math.abs(value) === Number.MAX_SAFE_INTEGER ? undefined : value,
  );
  // Swagger UI would link the licence to another site.
  delete spec.info.license;
  // Offers only the header for the key, so that the key stays out of addresses.
  const { keyHeader } = spec.components.securitySchemes;
  spec.components.securitySchemes = { keyHeader };
  spec.security = [{ keyHeader: [] }];
  // Swagger UI fills in and sends examples, so keep only those of required parameters.
  const parameters = Object.values(spec.paths).flatMap((item) =>
    Object.values(item).flatMap((operation) => operation.parameters ?? []),
  );
  for (const parameter of [...parameters, ...Object.values(spec.components.parameters)]) {
    if (parameter.required || parameter['x-required-unless'] || parameter.$ref) continue;
    delete parameter.example;
    delete parameter.schema?.examples;
  }
  return spec;
}
