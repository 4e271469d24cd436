import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { createHostLookup } from './host-lookup.ts';

/** An IP address of a host. */
export interface HostAddress {
  address: string;
  family: number;
}

/** Returns all addresses of a host name. @throws if it has none, or when the signal aborts. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<HostAddress[]>;

/**
 * An address to which webhooks must not be sent. The message is for the account, and does not reveal which
 * addresses were found.
 */
export class AddressRefused extends Error {}

/** Keeps webhooks out of networks that only this service can reach. */
export interface AddressGuard {
  /**
   * Returns the addresses of a host, all of which are allowed. Connections must use these addresses, because a
   * second lookup may return others.
   * @param signal ends the lookup.
   * @throws AddressRefused if one of them is not allowed, and the errors of the lookup.
   */
  addressesOf(url: URL, signal: AbortSignal): Promise<HostAddress[]>;
}

/** @param allowPrivate allows private and loopback addresses; addresses that no receiver can have stay refused. */
export function createAddressGuard(
  allowPrivate: boolean,
  resolve: Resolve = createHostLookup(),
): AddressGuard {
  return {
    async addressesOf(url, signal) {
      const refusal = refusalOf(url, allowPrivate);
      if (refusal) throw new AddressRefused(refusal);
      const literal = literalOf(url.hostname);
      const addresses = literal
        ? [{ address: literal, family: isIP(literal) }]
        : await resolve(url.hostname, signal);
      if (addresses.length === 0 || !addresses.every(({ address }) => isFit(address, allowPrivate)))
        throw new AddressRefused(NOT_PUBLIC);
      return addresses;
    },
  };
}

const NOT_PUBLIC = 'must not resolve to a private, local or reserved address';

/** Returns why this URL is refused, as far as its text shows; null if it is allowed. */
export function refusalOf(url: URL, allowPrivate: boolean): string | null {
  if (!/^https?:$/.test(url.protocol)) return 'must start with https:// or http://';
  if (url.username || url.password) return 'must not contain a user name or password';
  if (url.href.includes('#')) return 'must not contain a fragment';
  if (!isFitPort(url.port)) return 'must have a port that HTTP is served on: 80, 443, or one from 1024 up';
  const literal = literalOf(url.hostname);
  if (literal ? !isFit(literal, allowPrivate) : !allowPrivate && isLocalName(url.hostname)) return NOT_PUBLIC;
  return null;
}

/** Returns a lookup for `net.connect` that always returns these addresses, for any name. */
export function pinnedLookup(addresses: readonly HostAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const wanted = addresses.filter(({ family }) => !options.family || options.family === family);
    const [first] = wanted;
    if (!first) callback(Object.assign(new Error('No address of this family.'), { code: 'ENOTFOUND' }), '');
    else if (options.all) callback(null, wanted);
    else callback(null, first.address, first.family);
  };
}

const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parse('2000::');

/** Ranges that `allowPrivate` allows. Link-local addresses stay refused, because metadata services use them. */
const PRIVATE_RANGES: readonly string[] = ['loopback', 'private', 'uniqueLocal'];

/** Metadata services of clouds in public or private ranges. They reveal the secrets of a machine. */
const METADATA: readonly string[] = ['168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'];

/**
 * Returns whether connections may go to this IP address. IPv6 addresses that contain an IPv4 address (mapped,
 * NAT64, 6to4, Teredo) have ranges of their own, which are never allowed.
 */
export function isFit(address: string, allowPrivate: boolean): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (METADATA.some((service) => ipaddr.parse(service).toString() === parsed.toString())) return false;
  const range = parsed.range();
  if (allowPrivate && PRIVATE_RANGES.includes(range)) return true;
  if (range !== 'unicast') return false;
  // "unicast" includes addresses outside all known ranges, such as the IPv4-compatible ::127.0.0.1. Only this block
  // has been allocated.
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_UNICAST_V6, 3);
}

/** Returns the IP address in a URL's host, which `URL` has already normalised; null if the host is a name. */
function literalOf(hostname: string): string | null {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) ? bare : null;
}

/** Names that are local by definition (RFC 6761) or by convention. */
function isLocalName(hostname: string): boolean {
  return /(^|\.)(localhost|local|internal)\.?$/.test(hostname);
}

/**
 * Ports from 1024 up that the Fetch standard blocks, because services of other protocols listen there and may act
 * on a request.
 */
const OTHER_PROTOCOLS: readonly number[] = [
  ...[1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000],
  ...[6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080],
];

function isFitPort(port: string): boolean {
  if (port === '' || port === '80' || port === '443') return true;
  return Number(port) >= 1024 && !OTHER_PROTOCOLS.includes(Number(port));
}
