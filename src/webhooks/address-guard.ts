import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** One address of a host. */
export interface HostAddress {
  address: string;
  family: number;
}

/** All addresses of a host name. @throws when it has none. */
export type Resolve = (hostname: string) => Promise<HostAddress[]>;

/** An address that no webhook may go to. The message is for the account that asked, and does not say what was found. */
export class AddressRefused extends Error {}

/** Keeps webhooks out of the networks that only we can reach. */
export interface AddressGuard {
  /**
   * Finds the addresses of a host, each of which is fit to connect to. A connection must go to one of these: who looks the
   * name up once more may be told another.
   * @throws AddressRefused when one is not, and whatever looking up throws.
   */
  addressesOf(url: URL): Promise<HostAddress[]>;
}

/** @param allowPrivate lets private and loopback addresses pass; what no receiver can have stays refused. */
export function createAddressGuard(allowPrivate: boolean, resolve: Resolve = resolveAll): AddressGuard {
  return {
    async addressesOf(url) {
      const refusal = refusalOf(url, allowPrivate);
      if (refusal) throw new AddressRefused(refusal);
      const literal = literalOf(url.hostname);
      const addresses = literal ? [{ address: literal, family: isIP(literal) }] : await resolve(url.hostname);
      if (addresses.length === 0 || !addresses.every(({ address }) => isFit(address, allowPrivate)))
        throw new AddressRefused(NOT_PUBLIC);
      return addresses;
    },
  };
}

const NOT_PUBLIC = 'must not lead to a private, local or otherwise special address';

/** Why no webhook may go to this address, as far as its text tells; null where nothing speaks against it. */
export function refusalOf(url: URL, allowPrivate: boolean): string | null {
  if (!/^https?:$/.test(url.protocol)) return 'must begin with https:// or http://';
  if (url.username || url.password) return 'must not hold a user name or password';
  if (url.href.includes('#')) return 'must not hold a fragment';
  if (!isFitPort(url.port)) return 'must have a port that HTTP is served on: 80, 443, or one from 1024 up';
  const literal = literalOf(url.hostname);
  if (literal ? !isFit(literal, allowPrivate) : !allowPrivate && isLocalName(url.hostname)) return NOT_PUBLIC;
  return null;
}

/** A lookup for `net.connect` that knows these addresses only, whatever name it is asked. */
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

/** What an operator who allows private addresses has of them. Link-local ones, and with them metadata services, stay out. */
const PRIVATE_RANGES: readonly string[] = ['loopback', 'private', 'uniqueLocal'];

/** Services that clouds put at addresses of ordinary or private ranges, and that tell machines their secrets. */
const METADATA: readonly string[] = ['168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'];

/**
 * Whether a connection may go to this IP address. An IPv6 address that carries an IPv4 address within (mapped, NAT64,
 * 6to4, Teredo) is of a range of its own, and never fit.
 */
export function isFit(address: string, allowPrivate: boolean): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (METADATA.some((service) => ipaddr.parse(service).toString() === parsed.toString())) return false;
  const range = parsed.range();
  if (allowPrivate && PRIVATE_RANGES.includes(range)) return true;
  if (range !== 'unicast') return false;
  // "unicast" is what is left over, such as the IPv4-compatible ::127.0.0.1; only this part was ever given out.
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_UNICAST_V6, 3);
}

/** The IP address a URL names itself, which `URL` has brought from any other notation into the usual one. */
function literalOf(hostname: string): string | null {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) ? bare : null;
}

/** Names that are ours by definition (RFC 6761), or by custom within one network. */
function isLocalName(hostname: string): boolean {
  return /(^|\.)(localhost|local|internal)\.?$/.test(hostname);
}

/** Ports from 1024 up that the Fetch standard blocks: what listens there speaks something else and may act on it. */
const OTHER_PROTOCOLS: readonly number[] = [
  ...[1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000],
  ...[6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080],
];

function isFitPort(port: string): boolean {
  if (port === '' || port === '80' || port === '443') return true;
  return Number(port) >= 1024 && !OTHER_PROTOCOLS.includes(Number(port));
}

function resolveAll(hostname: string): Promise<HostAddress[]> {
  return lookup(hostname, { all: true });
}
