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
  plugins: [quickReading],
});

/**
 * A plugin that reads the document as JSON, and only the references of the part that is shown. Swagger UI would read it as YAML,
 * and again as a whole for each operation that is opened, which takes seconds.
 */
function quickReading() {
  const parseToJson =
    (text) =>
    ({ specActions }) =>
      specActions.updateJsonSpec(JSON.parse(text));
  const partOf = (spec, path) => path.reduce((part, name) => part?.[name], spec);
  return {
    fn: {
      resolveSubtree: async (spec, path) => ({
        spec: resolved(partOf(spec, path), spec) ?? null,
        errors: [],
      }),
    },
    statePlugins: { spec: { actions: { parseToJson } } },
  };
}

/** Replaces the references in a part of a document. Those to a part that contains them stay. */
function resolved(part, spec, within = []) {
  if (Array.isArray(part)) return part.map((one) => resolved(one, spec, within));
  if (typeof part !== 'object' || part === null) return part;
  const { $ref, ...own } = part;
  if (typeof $ref === 'string' && $ref.startsWith('#/') && !within.includes($ref)) {
    const names = $ref.slice(2).split('/');
    const target = names.reduce((inner, name) => inner?.[name], spec);
    return { ...resolved(target, spec, [...within, $ref]), ...resolved(own, spec, within), $$ref: $ref };
  }
  return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, resolved(one, spec, within)]));
}

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
