import { SoukError } from '../platform/errors.ts';

/** The provider rejected a request because of a value in it. A request for a part of its values may succeed. */
export class RequestRejected extends SoukError {}
