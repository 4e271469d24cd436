import { JSONParser, TokenType } from '@streamparser/json';

const LIST = 'dataByDepartmentAndSearchTerm';

/** Parses the document around the list of entries, as a stream. */
export interface JsonFrame {
  /** Parses bytes up to and including a bracket. @throws if they are not JSON. */
  write(bytes: Uint8Array): void;
  /** Whether the last byte opened the list. */
  readonly isListOpen: boolean;
  readonly isEnded: boolean;
}

/** @param onSpecification called with `reportSpecification` when it has been parsed. */
export function openJsonFrame(onSpecification: (value: unknown) => void): JsonFrame {
  let depth = 0;
  let lastText: unknown;
  let isListOpen = false;
  const parser = new JSONParser({ paths: ['$.reportSpecification'], keepStack: false });
  parser.onValue = ({ value }) => onSpecification(value);
  parser.onToken = ({ token, value }) => {
    isListOpen = token === TokenType.LEFT_BRACKET && depth === 1 && lastText === LIST;
    if (token === TokenType.STRING) lastText = value;
    if (token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET) depth += 1;
    if (token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET) depth -= 1;
  };
  return {
    write(bytes) {
      parser.write(bytes);
    },
    get isListOpen() {
      return isListOpen;
    },
    get isEnded() {
      return parser.isEnded;
    },
  };
}
