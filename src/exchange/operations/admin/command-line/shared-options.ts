import { type Command, Option } from 'commander';
import { CONNECTION_AUTH } from '../../../sources/connections/connection-options.ts';
import { ANSWER_MODES } from '../../../sources/connectors/ihe/ihe-settings.ts';

/** Options of every command. */
export const withAdminOptions = (command: Command): Command =>
  command
    .option(
      '--data-dir <folder>',
      'data folder of the running stack (default: DATA_DIR, else .data)',
    )
    .option('--json', 'print one JSON document to stdout');

/** The account that a command is about. */
export const withAccount = (command: Command): Command =>
  command.requiredOption(
    '--account <id>',
    'id of the account, from "accounts list"',
  );

/** Settings of an account. */
export const withSettings = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--dialect <dialect>',
        'interface: the interface to the letter; published: compatible with existing clients',
      ).choices(['interface', 'published']),
    )
    .option(
      '--sources <names>',
      'enabled sources, separated by commas, or none (new account: all)',
    )
    .option(
      '--bulk-sources <names>',
      'sources of the queries after a bulk create (default: hie)',
    )
    .option('--requests-per-minute <n>', 'limit of requests (default: 1200)')
    .option(
      '--network-queries-per-minute <n>',
      'limit of network queries per source (default: 120)',
    )
    .option(
      '--pharmacy-realtime-per-day <n>',
      'limit of realtime pharmacy queries (default: 1000)',
    )
    .option(
      '--consolidated-queries-per-minute <n>',
      'limit of consolidated queries (default: 120)',
    )
    .option('--messages-per-minute <n>', 'limit of messages sent (default: 60)')
    .option(
      '--monitoring-hours <from-to>',
      'hours in which scheduled monitoring may start (default: 1-5)',
    )
    .option(
      '--monitoring-time-zone <zone>',
      'time zone of these hours (default: America/New_York)',
    )
    .option(
      '--frame-ancestors <origins>',
      'origins whose pages may embed the patient view, separated by commas, or none',
    )
    .option(
      '--direct-addresses <addresses>',
      'Direct addresses at which the account receives messages, separated by commas, or none',
    )
    .option(
      '--withhold <labels>',
      "security labels of HL7 (R, ETH, 42CFRPart2, …) that no patient's record shows, unless a consent permits it; or none",
    );

/** How a connection authenticates. */
export const withCredentials = (command: Command): Command =>
  command
    .addOption(
      new Option('--auth <kind>', 'how the network knows us')
        .choices(CONNECTION_AUTH)
        .default('none'),
    )
    .option('--client-id <id>', 'OAuth 2 client id')
    .option('--scope <scope>', 'scope to request, such as "system/*.rs"')
    .option(
      '--token-url <url>',
      'token endpoint (smart-backend: default from .well-known/smart-configuration)',
    )
    .option(
      '--algorithm <name>',
      'smart-backend: ES384 or RS384 (default: the first that the server lists)',
    )
    .option(
      '--udap-cert <file>',
      'udap: our certificate of the trust community, with its chain (PEM)',
    )
    .option('--udap-key <file>', 'udap: the key of that certificate (PEM)')
    .option(
      '--udap-anchors <file>',
      'udap: certificates that the servers of the community lead to (PEM)',
    )
    .option('--client-name <name>', 'udap: our name in the registration')
    .option(
      '--contact <uri>',
      'udap: our contact in the registration, mailto:…',
    )
    .option(
      '--organization-id <uri>',
      'udap: who we are in each token request; saml: our OID',
    )
    .option('--organization-name <name>', 'udap, saml: the same, for people')
    .option(
      '--community <uri>',
      'udap: the trust community, for servers that are in several',
    )
    .option(
      '--purpose <uri>',
      "udap: the one purpose that we are registered for, such as urn:oid:2.16.840.1.113883.3.7204.1.5.2.1#T-TRTMNT (default: HL7's, by query)",
    )
    .option(
      '--home-community-id <oid>',
      "udap: our home community, for TEFCA's certification at the registration",
    )
    .option('--saml-subject <name>', 'saml: who asks, a person or a system')
    .option(
      '--saml-email <address>',
      'saml: our mail address, for --name-id email',
    )
    .option(
      '--saml-role <coding>',
      'saml: role of who asks, <OID of the code system>|<code>|<words>',
    )
    .option(
      '--saml-purpose <coding>',
      'saml: why we ask, such as "2.16.840.1.113883.3.18.7.1|TREATMENT"',
    )
    .option('--npi <number>', 'saml: NPI of who asks')
    .option(
      '--secret-file <file>',
      'file with the client secret or bearer token, or - for stdin',
    )
    .option(
      '--callback-secret-file <file>',
      'file with the key that signs its callbacks, or -',
    )
    .option(
      '--tls-ca <file>',
      'authorities to trust instead of public ones (PEM)',
    )
    .option(
      '--tls-cert <file>',
      'mutual TLS: our certificate with its chain (PEM)',
    )
    .option('--tls-key <file>', 'mutual TLS: the key of our certificate (PEM)')
    .option(
      '--tls-pins <pins>',
      'public keys of its certificate (sha256/…), separated by commas',
    );

/** Settings of a connection besides its credentials. */
export const withConnectionSettings = (command: Command): Command =>
  command
    .option(
      '--allowed-origins <origins>',
      'further origins that its links may lead to, separated by commas',
    )
    .option(
      '--token-origins <origins>',
      'further origins that receive its token, separated by commas',
    )
    .option(
      '--own-base-urls <urls>',
      'addresses by which the server calls itself in links, separated by commas',
    )
    .option('--page-size <n>', 'resources per page (default: 200)')
    .option(
      '--page-bytes-max <n>',
      'largest page, in bytes (default: 20000000)',
    )
    .option(
      '--document-bytes-max <n>',
      'largest document, in bytes (default: 200000000)',
    )
    .option(
      '--request-timeout-seconds <n>',
      'time for one request (default: 30)',
    )
    .option(
      '--patient-match <true|false>',
      'whether the server has Patient/$match (default: as it states)',
    )
    .option(
      '--document-search <true|false>',
      'whether it lists documents by IHE MHD (default: as it states)',
    )
    .option(
      '--calls-per-second <n>',
      'calls that the network allows (default: 50)',
    )
    .option(
      '--calls-per-minute <n>',
      'calls that the network allows (default: no limit)',
    )
    .addOption(
      new Option(
        '--incremental <true|false>',
        'ask only for what has changed, where the server is found to honour it (default: true)',
      ).choices(['true', 'false', 'default']),
    )
    .option(
      '--full-after-days <n>',
      'ask for everything at least this often (default: 7)',
    )
    .option(
      '--facility-ids <ids>',
      'ask only about patients of these facilities, separated by commas',
    );

/** Settings of a connection that speaks IHE. */
export const withIheSettings = (command: Command): Command =>
  command
    .option('--query-url <url>', 'ihe: address of document queries (ITI-38)')
    .option(
      '--retrieve-url <url>',
      'ihe: address of document retrievals (ITI-39)',
    )
    .option('--home-community <oid>', 'ihe: home community of the gateway')
    .option(
      '--own-home-community <oid>',
      'ihe and networks: our own home community',
    )
    .option(
      '--other-communities <list>',
      'ihe: further communities, each as "<oid>|<query url>|<retrieve url>"',
    )
    .addOption(
      new Option(
        '--answers <mode>',
        'ihe: whether a patient discovery is answered at once (default: direct)',
      ).choices([...ANSWER_MODES, 'default']),
    )
    .option(
      '--documents-per-retrieval <n>',
      'ihe: documents asked for at once (default: 5)',
    )
    .addOption(
      new Option(
        '--query-dates <kind>',
        'ihe: range of dates in document queries (default: none)',
      ).choices(['none', 'creation', 'service', 'default']),
    )
    .addOption(
      new Option(
        '--name-id <form>',
        'ihe: how the assertion names us (default: x509)',
      ).choices(['x509', 'email', 'default']),
    )
    .addOption(
      new Option(
        '--attribute-names <form>',
        "ihe: NameFormat of the assertion's attributes (default: none)",
      ).choices(['none', 'uri', 'basic', 'default']),
    )
    .option('--sha1 <true|false>', 'ihe: sign with SHA-1 (default: false)')
    .option(
      '--legacy-tls <true|false>',
      'ihe: allow old renegotiation and weak keys (default: false)',
    )
    .option(
      '--answer-timeout-seconds <n>',
      'ihe: time for one request (default: 120)',
    );

/** Settings of a connection to a network with a directory. */
export const withNetworkSettings = (command: Command): Command =>
  command
    .option(
      '--directory <name>',
      'network: its directory, from "directory list"',
    )
    .option(
      '--gateways-max <n>',
      'network: gateways asked for one patient (default: 500)',
    )
    .option(
      '--within-miles <n>',
      "network: how far a gateway may be from a patient's address (default: 50)",
    )
    .option(
      '--record-locators <oids>',
      'ihe-network: home communities that are asked instead of their members',
    )
    .option(
      '--only-communities <oids>',
      'network: only these home communities are asked',
    )
    .option(
      '--never-communities <oids>',
      'network: these home communities are never asked',
    )
    .option(
      '--deferred-communities <oids>',
      'ihe-network: these home communities answer discoveries later',
    )
    .option(
      '--discovery-timeout-seconds <n>',
      'network: time of a gateway to say whether it knows a patient (default: 60)',
    )
    .option(
      '--ask-nobody-again-after-days <n>',
      'network: a gateway that did not know the patient is asked again then (default: 30)',
    )
    .option(
      '--private-addresses <true|false>',
      'fhir-network: ask servers in private networks and on this machine, too (default: false)',
    );

/** Who decided, and why. */
export const withStatement = (command: Command): Command =>
  command
    .requiredOption(
      '--by <name>',
      'your name; recorded permanently in the audit',
    )
    .requiredOption(
      '--reason <text>',
      'why, without patient data; recorded permanently',
    );
