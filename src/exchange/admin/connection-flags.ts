import { type Command, Option } from 'commander';
import { CONNECTION_AUTH } from './connection-options.ts';

/** Adds the options for the settings of a connection. */
export const withConnectionSettings = (command: Command): Command =>
  command
    .option('--allowed-origins <origins>', 'further origins that its links may lead to, separated by commas')
    .option('--token-origins <origins>', 'further origins that receive its token, separated by commas')
    .option(
      '--own-base-urls <urls>',
      'addresses by which the server calls itself in links, separated by commas',
    )
    .option('--page-size <n>', 'resources per page (default: 200)')
    .option('--max-megabytes <n>', 'largest page (default: 20)')
    .option('--max-document-megabytes <n>', 'largest document (default: 200)')
    .option('--timeout-seconds <n>', 'time for one request (default: 30)')
    .option('--patient-match <yes|no>', 'whether the server has Patient/$match (default: as it states)')
    .option('--document-search <yes|no>', 'whether it lists documents by IHE MHD (default: as it states)')
    .option('--calls-per-second <n>', 'calls that the network allows (default: 50)')
    .option('--calls-per-minute <n>', 'calls that the network allows (default: no limit)')
    .addOption(
      new Option(
        '--incremental <on-or-off>',
        'ask only for what has changed, where the server is found to honour it (default: on)',
      ).choices(['on', 'off', 'default']),
    )
    .option('--full-after-days <n>', 'ask for everything at least this often (default: 7)')
    .option('--facilities <ids>', 'ask only about patients of these facilities, separated by commas');

/** Adds the options for how the network knows us, and how we know it. */
export const withCredentials = (command: Command): Command =>
  command
    .addOption(
      new Option('--auth <kind>', 'how the network knows us').choices(CONNECTION_AUTH).default('none'),
    )
    .option('--client-id <id>', 'OAuth 2 client id')
    .option('--scope <scope>', 'scope to request, such as "system/*.rs"')
    .option(
      '--token-url <url>',
      'token endpoint (smart-backend: default from .well-known/smart-configuration)',
    )
    .option('--algorithm <name>', 'smart-backend: ES384 or RS384 (default: the first that the server lists)')
    .option('--udap-cert <file>', 'udap: our certificate of the trust community, with its chain (PEM)')
    .option('--udap-key <file>', 'udap: the key of that certificate (PEM)')
    .option('--udap-anchors <file>', 'udap: certificates that the servers of the community lead to (PEM)')
    .option('--client-name <name>', 'udap: our name in the registration')
    .option('--contact <uri>', 'udap: our contact in the registration, mailto:…')
    .option('--organization-id <uri>', 'udap: who we are in each token request')
    .option('--organization-name <name>', 'udap: the same, for people')
    .option('--community <uri>', 'udap: the trust community, for servers that are in several')
    .option('--secret-file <file>', 'file with the client secret or bearer token, or - for stdin')
    .option('--callback-secret-file <file>', 'file with the key that signs its callbacks, or -')
    .option('--tls-ca <file>', 'authorities to trust instead of public ones (PEM)')
    .option('--tls-cert <file>', 'mutual TLS: our certificate with its chain (PEM)')
    .option('--tls-key <file>', 'mutual TLS: the key of our certificate (PEM)')
    .option('--tls-pins <pins>', 'public keys of its certificate (sha256/…), separated by commas');
