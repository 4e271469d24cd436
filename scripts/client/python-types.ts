import { pascalCase } from '../../src/api/openapi/schemas.ts';
import type { JsonSchema } from '../../src/operations/params/request.ts';

/** Python types of JSON schemas. */
export interface PythonTypes {
  /** Returns the classes and aliases of schemas, with those of the objects inside them. */
  declarations(names: readonly string[]): string;
  isDeclared(name: string): boolean;
  /** The type of a value that a method takes. */
  ofParameter(schema: JsonSchema): string;
  /** The type of `domain` or `country`. */
  ofSite(name: string): string;
  /** The type of the entries of a page. */
  ofEntries(page: string, list: string): string;
}

type Schemas = Readonly<Record<string, JsonSchema>>;

/** Names the classes of objects without a name; parameters have none, because a program passes plain dictionaries. */
type NameObject = ((schema: JsonSchema, name: string) => string) | null;

const IDENTIFIER = /^[A-Za-z_]\w*$/;
const KEYWORDS = new Set([
  'None',
  'True',
  'False',
  'class',
  'from',
  'import',
  'in',
  'is',
  'not',
  'or',
  'and',
  'as',
]);

export function createPythonTypes(schemas: Schemas): PythonTypes {
  return {
    declarations: (names) => names.map((name) => declarationOf(name, schemas[name] ?? {})).join('\n\n'),
    isDeclared: (name) => name in schemas,
    ofParameter: (schema) => typeOf(schema, '', null),
    ofSite: (name) => typeOf(siteSchema(schemas, name), '', null),
    ofEntries(page, list) {
      const items = (property(schemas[page], list)?.items ?? {}) as JsonSchema;
      const type = typeOf(items, `${page}${pascalCase(list)}`, (_, name) => name);
      return IDENTIFIER.test(type) && type !== 'str' && type !== 'Any' ? `types.${type}` : type;
    },
  };
}

function property(schema: JsonSchema | undefined, name: string): JsonSchema | undefined {
  return (schema?.properties as Record<string, JsonSchema> | undefined)?.[name];
}

function siteSchema({ Site }: Schemas, name: string): JsonSchema {
  const forms = (Site?.anyOf ?? []) as JsonSchema[];
  return forms.map((form) => property(form, name)).find((found) => found !== undefined) ?? {};
}

/** Returns the class of an object, or the alias of another type, after those of the objects inside it. */
function declarationOf(name: string, schema: JsonSchema): string {
  const inner: string[] = [];
  const nameObject: NameObject = (object, own) => {
    inner.push(declarationOf(own, object));
    return own;
  };
  const text = isClass(schema)
    ? classOf(name, schema, nameObject)
    : `${name} = ${typeOf(schema, name, nameObject)}`;
  return [...inner, `${text}\n`].join('\n\n');
}

/** A dictionary that may have further fields has no class: checkers would refuse these fields. */
function isClass({ type, properties, additionalProperties }: JsonSchema): boolean {
  return type === 'object' && properties !== undefined && !additionalProperties;
}

function classOf(name: string, schema: JsonSchema, nameObject: NameObject): string {
  const required = new Set(schema.required);
  const fields = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).map(
    ([key, value]) => {
      const type = typeOf(value, `${name}${pascalCase(key)}`, nameObject);
      return { key, type, isRequired: required.has(key), description: value.description };
    },
  );
  const about = schema.description ? `    """${schema.description}"""\n\n` : '';
  if (fields.some(({ key }) => !IDENTIFIER.test(key) || KEYWORDS.has(key))) {
    const entries = fields.map(({ key, type }) => `    ${JSON.stringify(key)}: ${JSON.stringify(type)},`);
    return `${name} = TypedDict("${name}", {\n${entries.join('\n')}\n}, total=False)`;
  }
  const lines = (isRequired: boolean) =>
    fields
      .filter((field) => field.isRequired === isRequired)
      .map(
        ({ key, type, description }) =>
          `${description ? `    # ${oneLine(description)}\n` : ''}    ${key}: ${type}`,
      )
      .join('\n');
  const [always, sometimes] = [lines(true), lines(false)];
  if (!sometimes) return `class ${name}(TypedDict):\n${about}${always || '    pass'}`;
  if (!always) return `class ${name}(TypedDict, total=False):\n${about}${sometimes}`;
  return `class _${name}(TypedDict):\n${always}\n\n\nclass ${name}(_${name}, total=False):\n${about}${sometimes}`;
}

function typeOf(schema: JsonSchema, name: string, nameObject: NameObject): string {
  const { $ref, type } = schema;
  if (typeof $ref === 'string') {
    const target = $ref.split('/').at(-1) ?? '';
    return target === 'ExactInteger' ? 'int' : nameObject ? target : 'Mapping[str, Any]';
  }
  if (schema.const !== undefined) return literal([schema.const]);
  if (Array.isArray(schema.enum)) return literal(schema.enum);
  const forms = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (forms) return unionOf(forms.map((form) => typeOf(form, name, nameObject)));
  if (Array.isArray(type))
    return unionOf(type.map((one) => typeOf({ ...schema, type: one } as JsonSchema, name, nameObject)));
  switch (type as string | undefined) {
    case 'string':
      return 'str';
    case 'integer':
      return 'int';
    case 'number':
      return 'float';
    case 'boolean':
      return 'bool';
    case 'null':
      return 'None';
    case 'array':
      return listOf(schema, name, nameObject);
    case 'object':
      return dictionaryOf(schema, name, nameObject);
    default:
      return 'Any';
  }
}

function listOf({ items }: JsonSchema, name: string, nameObject: NameObject): string {
  const item = items && !Array.isArray(items) ? typeOf(items as JsonSchema, name, nameObject) : 'Any';
  return nameObject ? `List[${item}]` : `Sequence[${item}]`;
}

function dictionaryOf(schema: JsonSchema, name: string, nameObject: NameObject): string {
  if (!nameObject) return 'Mapping[str, Any]';
  if (isClass(schema)) return nameObject(schema, name);
  const { properties, additionalProperties } = schema;
  const isMap = !properties && typeof additionalProperties === 'object';
  return `Dict[str, ${isMap ? typeOf(additionalProperties as JsonSchema, name, nameObject) : 'Any'}]`;
}

function unionOf(types: readonly string[]): string {
  const different = [...new Set(types)].filter((type) => type !== 'None');
  const [only = 'None'] = different;
  const union = different.length > 1 ? `Union[${different.join(', ')}]` : only;
  return types.includes('None') && different.length > 0 ? `Optional[${union}]` : union;
}

/** Returns the type of some constants. */
export function literal(values: readonly unknown[]): string {
  const written = values.map((value) =>
    value === null ? 'None' : typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value),
  );
  return `Literal[${written.join(', ')}]`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}
