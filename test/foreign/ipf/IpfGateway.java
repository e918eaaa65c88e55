import static org.openehealth.ipf.platform.camel.ihe.hl7v3.PixPdqV3CamelValidators.iti55RequestValidator;
import static org.openehealth.ipf.platform.camel.ihe.hl7v3.PixPdqV3CamelValidators.iti55ResponseValidator;
import static org.openehealth.ipf.platform.camel.ihe.xds.XdsCamelValidators.iti38RequestValidator;
import static org.openehealth.ipf.platform.camel.ihe.xds.XdsCamelValidators.iti38ResponseValidator;
import static org.openehealth.ipf.platform.camel.ihe.xds.XdsCamelValidators.iti39RequestValidator;
import static org.openehealth.ipf.platform.camel.ihe.xds.XdsCamelValidators.iti39ResponseValidator;
import static org.openehealth.ipf.platform.camel.ihe.xds.XdsCamelValidators.iti41RequestValidator;
import static org.openehealth.ipf.platform.camel.ihe.xds.XdsCamelValidators.iti41ResponseValidator;

import jakarta.activation.DataHandler;
import jakarta.mail.util.ByteArrayDataSource;
import jakarta.xml.bind.JAXBContext;
import jakarta.xml.bind.JAXBElement;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.apache.camel.ProducerTemplate;
import org.apache.camel.builder.RouteBuilder;
import org.openehealth.ipf.commons.audit.AuditContext;
import org.openehealth.ipf.commons.ihe.xds.core.ebxml.ebxml30.ProvideAndRegisterDocumentSetRequestType;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.Address;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.Association;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.AssociationLabel;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.AssociationType;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.AvailabilityStatus;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.AssigningAuthority;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.Code;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.DocumentEntry;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.DocumentEntryType;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.Identifiable;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.LocalizedString;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.Organization;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.PatientInfo;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.Person;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.Recipient;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.SubmissionSet;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.XcnName;
import org.openehealth.ipf.commons.ihe.xds.core.metadata.XpnName;
import org.openehealth.ipf.commons.ihe.xds.core.requests.DocumentReference;
import org.openehealth.ipf.commons.ihe.xds.core.requests.ProvideAndRegisterDocumentSet;
import org.openehealth.ipf.commons.ihe.xds.core.requests.QueryRegistry;
import org.openehealth.ipf.commons.ihe.xds.core.requests.RetrieveDocumentSet;
import org.openehealth.ipf.commons.ihe.xds.core.requests.query.FindDocumentsQuery;
import org.openehealth.ipf.commons.ihe.xds.core.requests.query.QueryReturnType;
import org.openehealth.ipf.commons.ihe.xds.core.responses.ErrorCode;
import org.openehealth.ipf.commons.ihe.xds.core.responses.ErrorInfo;
import org.openehealth.ipf.commons.ihe.xds.core.responses.QueryResponse;
import org.openehealth.ipf.commons.ihe.xds.core.responses.Response;
import org.openehealth.ipf.commons.ihe.xds.core.responses.RetrievedDocument;
import org.openehealth.ipf.commons.ihe.xds.core.responses.RetrievedDocumentSet;
import org.openehealth.ipf.commons.ihe.xds.core.responses.Severity;
import org.openehealth.ipf.commons.ihe.xds.core.responses.Status;
import org.openehealth.ipf.commons.ihe.xds.core.stub.ebrs30.lcm.SubmitObjectsRequest;
import org.openehealth.ipf.commons.ihe.xds.core.stub.ebrs30.rim.ExtrinsicObjectType;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.context.annotation.Bean;
import org.springframework.context.event.EventListener;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/**
 * IPF as a responding gateway (/services/iti55, iti38, iti39, iti41), and as an
 * initiating one that asks where it is told to (/ask/iti55, iti38, iti39,
 * iti41). Its
 * validators check every message in and out. Argument: the port.
 */
@EnableAutoConfiguration
@RestController
public class IpfGateway {
  private static final String HL7 = "urn:hl7-org:v3";
  private static final String HOME = "2.999.10";
  private static final String AUTHORITY = "2.999.10.1";
  private static final String REPOSITORY = "2.999.10.2";
  private static final String PATIENT = "ipf^1&2'3";
  private static final Map<String, byte[]> DOCUMENTS = documents();

  private final ProducerTemplate producer;

  public IpfGateway(ProducerTemplate producer) {
    this.producer = producer;
  }

  public static void main(String[] args) {
    SpringApplication application = new SpringApplication(IpfGateway.class);
    application.setDefaultProperties(Map.of(
        "server.port", args[0],
        "server.address", "127.0.0.1",
        "cxf.path", "/services",
        "camel.main.run-controller", "true",
        "spring.main.banner-mode", "off",
        "logging.level.root", "WARN",
        "spring.autoconfigure.exclude", "org.openehealth.ipf.boot.atna.IpfAtnaAutoConfiguration"));
    application.run(args);
  }

  @EventListener
  public void ready(ApplicationReadyEvent event) {
    System.out.println("READY");
  }

  @Bean
  public static AuditContext auditContext() {
    return AuditContext.noAudit();
  }

  @Bean
  public static RouteBuilder routes() {
    return new RouteBuilder() {
      @Override
      public void configure() {
        from("xcpd-iti55:iti55")
            .process(iti55RequestValidator())
            .process(exchange -> exchange.getMessage().setBody(
                discovered(exchange.getIn().getBody(String.class))))
            .process(iti55ResponseValidator());
        from("xca-iti38:iti38")
            .process(iti38RequestValidator())
            .process(exchange -> exchange.getMessage().setBody(
                listed(exchange.getIn().getBody(QueryRegistry.class))))
            .process(iti38ResponseValidator());
        from("xca-iti39:iti39")
            .process(iti39RequestValidator())
            .process(exchange -> exchange.getMessage().setBody(
                retrieved(exchange.getIn().getBody(RetrieveDocumentSet.class))))
            .process(iti39ResponseValidator());
        from("xds-iti41:iti41")
            .process(iti41RequestValidator())
            .process(exchange -> exchange.getMessage().setBody(
                taken(exchange.getIn().getBody(ProvideAndRegisterDocumentSet.class))))
            .process(iti41ResponseValidator());
        from("direct:iti55")
            .process(iti55RequestValidator())
            .toD("xcpd-iti55://${header.to}")
            .process(iti55ResponseValidator());
        from("direct:iti38")
            .process(iti38RequestValidator())
            .toD("xca-iti38://${header.to}")
            .process(iti38ResponseValidator());
        from("direct:iti39")
            .process(iti39RequestValidator())
            .toD("xca-iti39://${header.to}")
            .process(iti39ResponseValidator());
        from("direct:iti41")
            .process(iti41RequestValidator())
            .toD("xds-iti41://${header.to}")
            .process(iti41ResponseValidator());
        from("direct:read-package")
            .process(iti41RequestValidator())
            .convertBodyTo(ProvideAndRegisterDocumentSet.class);
        from("direct:write-package")
            .process(iti41RequestValidator())
            .convertBodyTo(ProvideAndRegisterDocumentSetRequestType.class);
      }
    };
  }

  private static final List<Map<String, Object>> SUBMISSIONS = new ArrayList<>();

  private static Response taken(ProvideAndRegisterDocumentSet request) throws Exception {
    var recipient = request.getSubmissionSet().getIntendedRecipients().get(0);
    SUBMISSIONS.add(Map.of(
        "title", request.getSubmissionSet().getTitle().getValue(),
        "organization", recipient.getOrganization().getIdNumber(),
        "npi", recipient.getPerson().getId().getId(),
        "documents", documentsOf(request)));
    return new Response(Status.SUCCESS);
  }

  private static List<Map<String, Object>> documentsOf(ProvideAndRegisterDocumentSet request)
      throws Exception {
    List<Map<String, Object>> documents = new ArrayList<>();
    for (var document : request.getDocuments()) {
      DocumentEntry entry = document.getDocumentEntry();
      byte[] bytes = document.getContent(DataHandler.class).getInputStream().readAllBytes();
      documents.add(Map.of(
          "mimeType", entry.getMimeType(),
          "hash", entry.getHash(),
          "size", entry.getSize(),
          "sha1", sha("SHA-1", bytes),
          "family", entry.getSourcePatientInfo().getNames().next().getFamilyName()));
    }
    return documents;
  }

  @PostMapping("/ask/submissions")
  public List<Map<String, Object>> submissions() {
    return SUBMISSIONS;
  }

  /** Sends a message as it is; returns the answer. */
  @PostMapping("/ask/iti55")
  public String askDiscovery(@RequestParam("to") String to, @RequestBody String message) {
    return producer.requestBodyAndHeader("direct:iti55", message, "to", to, String.class);
  }

  @PostMapping("/ask/iti38")
  public Map<String, Object> askDocuments(
      @RequestParam("to") String to,
      @RequestParam("patient") String patient,
      @RequestParam(value = "home", defaultValue = HOME) String home,
      @RequestParam(value = "authority", defaultValue = AUTHORITY) String authority) {
    FindDocumentsQuery query = new FindDocumentsQuery();
    query.setHomeCommunityId("urn:oid:" + home);
    query.setPatientId(new Identifiable(patient, new AssigningAuthority(authority)));
    query.setStatus(List.of(AvailabilityStatus.APPROVED));
    query.setDocumentEntryTypes(List.of(DocumentEntryType.STABLE, DocumentEntryType.ON_DEMAND));
    QueryRegistry request = new QueryRegistry(query);
    request.setReturnType(QueryReturnType.LEAF_CLASS);
    QueryResponse response =
        producer.requestBodyAndHeader("direct:iti38", request, "to", to, QueryResponse.class);
    Map<String, Object> answer = answer(response);
    answer.put("documents", response.getDocumentEntries().stream()
        .map(entry -> Map.of(
            "uniqueId", entry.getUniqueId(),
            "repository", entry.getRepositoryUniqueId(),
            "home", entry.getHomeCommunityId(),
            "patient", entry.getPatientId().getId(),
            "title", entry.getTitle().getValue(),
            "hash", entry.getHash(),
            "size", entry.getSize()))
        .toList());
    return answer;
  }

  @PostMapping("/ask/iti39")
  public Map<String, Object> askContents(
      @RequestParam("to") String to,
      @RequestParam("ids") List<String> ids,
      @RequestParam(value = "home", defaultValue = HOME) String home,
      @RequestParam(value = "repository", defaultValue = REPOSITORY) String repository) {
    RetrieveDocumentSet request = new RetrieveDocumentSet();
    for (String id : ids)
      request.getDocuments().add(new DocumentReference(repository, id, "urn:oid:" + home));
    RetrievedDocumentSet response =
        producer.requestBodyAndHeader("direct:iti39", request, "to", to, RetrievedDocumentSet.class);
    Map<String, Object> answer = answer(response);
    answer.put("documents", response.getDocuments().stream()
        .map(document -> Map.of(
            "uniqueId", document.getRequestData().getDocumentUniqueId(),
            "sha256", sha("SHA-256", bytesOf(document))))
        .toList());
    return answer;
  }

  /** Submits the text, and two megabytes of any bytes, about a person. */
  @PostMapping("/ask/iti41")
  public Map<String, Object> submit(
      @RequestParam("to") String to,
      @RequestParam("recipient") String recipient,
      @RequestParam(value = "target", required = false) String target,
      @RequestParam("uniqueId") String uniqueId,
      @RequestParam("given") String given,
      @RequestParam("family") String family,
      @RequestParam("birth") String birth,
      @RequestParam("zip") String zip,
      @RequestBody String text) {
    ProvideAndRegisterDocumentSet request =
        submission(recipient, target, uniqueId, given, family, birth, zip, text);
    return answer(producer.requestBodyAndHeader("direct:iti41", request, "to", to, Response.class));
  }

  /** The same submission as a package of documents (XDM), in base64. */
  @PostMapping("/ask/write-package")
  public String writePackage(
      @RequestParam("recipient") String recipient,
      @RequestParam("uniqueId") String uniqueId,
      @RequestParam("given") String given,
      @RequestParam("family") String family,
      @RequestParam("birth") String birth,
      @RequestParam("zip") String zip,
      @RequestBody String text) throws Exception {
    ProvideAndRegisterDocumentSet request =
        submission(recipient, null, uniqueId, given, family, birth, zip, text);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ZipOutputStream zipped = new ZipOutputStream(bytes)) {
      for (var document : request.getDocuments()) {
        String name = "DOC" + (request.getDocuments().indexOf(document) + 1) + ".TXT";
        document.getDocumentEntry().setUri(name);
        put(zipped, SET + name, document.getContent(DataHandler.class).getInputStream().readAllBytes());
      }
      var type = producer.requestBody(
          "direct:write-package", request, ProvideAndRegisterDocumentSetRequestType.class);
      ByteArrayOutputStream metadata = new ByteArrayOutputStream();
      submitContext().createMarshaller().marshal(type.getSubmitObjectsRequest(), metadata);
      put(zipped, SET + "METADATA.XML", metadata.toByteArray());
      put(zipped, "INDEX.HTM", "<html></html>".getBytes(StandardCharsets.UTF_8));
      put(zipped, "README.TXT", "IPF".getBytes(StandardCharsets.UTF_8));
    }
    return Base64.getEncoder().encodeToString(bytes.toByteArray());
  }

  /** Reads a package of documents (XDM), in base64, as its validator takes it. */
  @PostMapping("/ask/read-package")
  public Map<String, Object> readPackage(@RequestBody String base64) throws Exception {
    Map<String, byte[]> files = new LinkedHashMap<>();
    byte[] bytes = Base64.getDecoder().decode(base64);
    try (ZipInputStream zipped = new ZipInputStream(new ByteArrayInputStream(bytes))) {
      for (ZipEntry each = zipped.getNextEntry(); each != null; each = zipped.getNextEntry())
        files.put(each.getName(), zipped.readAllBytes());
    }
    var type = new ProvideAndRegisterDocumentSetRequestType();
    type.setSubmitObjectsRequest((SubmitObjectsRequest) submitContext().createUnmarshaller()
        .unmarshal(new ByteArrayInputStream(files.get(SET + "METADATA.XML"))));
    for (JAXBElement<?> each : type.getSubmitObjectsRequest().getRegistryObjectList().getIdentifiable()) {
      if (!(each.getValue() instanceof ExtrinsicObjectType object)) continue;
      String uri = object.getSlot().stream()
          .filter(slot -> "URI".equals(slot.getName()))
          .findFirst().orElseThrow().getValueList().getValue().get(0);
      var document = new ProvideAndRegisterDocumentSetRequestType.Document();
      document.setId(object.getId());
      document.setValue(new DataHandler(
          new ByteArrayDataSource(files.get(SET + uri), object.getMimeType())));
      type.getDocument().add(document);
    }
    var request = producer.requestBody("direct:read-package", type, ProvideAndRegisterDocumentSet.class);
    return Map.of(
        "names", List.copyOf(files.keySet()),
        "title", request.getSubmissionSet().getTitle().getValue(),
        "address", request.getSubmissionSet().getIntendedRecipients().get(0).getTelecom().getEmail(),
        "documents", documentsOf(request));
  }

  private static final String SET = "IHE_XDM/SUBSET01/";

  private static JAXBContext submitContext() throws Exception {
    return JAXBContext.newInstance(SubmitObjectsRequest.class);
  }

  private static void put(ZipOutputStream zipped, String name, byte[] bytes) throws Exception {
    zipped.putNextEntry(new ZipEntry(name));
    zipped.write(bytes);
    zipped.closeEntry();
  }

  private static ProvideAndRegisterDocumentSet submission(
      String recipient,
      String target,
      String uniqueId,
      String given,
      String family,
      String birth,
      String zip,
      String text) {
    AssigningAuthority authority = new AssigningAuthority(AUTHORITY);
    Identifiable patient = new Identifiable(PATIENT, authority);
    SubmissionSet set = new SubmissionSet();
    set.assignEntryUuid();
    set.setUniqueId(uniqueId);
    set.setSourceId(HOME);
    set.setPatientId(patient);
    set.setSubmissionTime("20261129120000");
    set.setTitle(new LocalizedString("Befund & „Überweisung“ " + uniqueId));
    set.setComments(new LocalizedString("Bitte sehen"));
    set.setContentTypeCode(code("34133-9", "Summarization of Episode Note", "2.16.840.1.113883.6.1"));
    set.setAvailabilityStatus(AvailabilityStatus.APPROVED);
    set.getIntendedRecipients().add(new Recipient(
        new Organization("Clinic & Co", recipient, null),
        new Person(
            new Identifiable("1234567893", new AssigningAuthority("2.16.840.1.113883.4.6")),
            new XcnName("Jones", "Ann", null, null, null, null)),
        null));
    PatientInfo info = new PatientInfo();
    info.getIds().add(patient);
    info.getNames().add(new XpnName(family, given, null, null, null, null));
    info.setDateOfBirth(birth);
    info.setGender("F");
    Address address = new Address();
    address.setZipOrPostalCode(zip);
    info.getAddresses().add(address);

    ProvideAndRegisterDocumentSet request = new ProvideAndRegisterDocumentSet();
    request.setSubmissionSet(set);
    request.setTargetHomeCommunityId(target);
    List<byte[]> contents =
        List.of(text.getBytes(StandardCharsets.UTF_8), DOCUMENTS.get("2.999.10.4.2"));
    for (byte[] bytes : contents) {
      DocumentEntry entry = entry(uniqueId + "." + (request.getDocuments().size() + 1), bytes);
      entry.setSourcePatientInfo(info);
      request.getDocuments().add(new org.openehealth.ipf.commons.ihe.xds.core.metadata.Document(
          entry, new DataHandler(new ByteArrayDataSource(bytes, "text/plain"))));
      Association association = new Association(
          AssociationType.HAS_MEMBER, "urn:uuid:" + UUID.randomUUID(), set.getEntryUuid(), entry.getEntryUuid());
      association.setLabel(AssociationLabel.ORIGINAL);
      request.getAssociations().add(association);
    }
    return request;
  }

  /** Why it refuses an answer. */
  @ExceptionHandler
  public ResponseEntity<String> refused(Exception error) {
    Throwable cause = error;
    while (cause.getCause() != null) cause = cause.getCause();
    return ResponseEntity.status(502).body(cause.getMessage());
  }

  private static Map<String, Object> answer(Response response) {
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("status", response.getStatus().name());
    answer.put("errors", response.getErrors().stream()
        .map(error -> error.getErrorCode().getOpcode())
        .toList());
    return answer;
  }

  /** One patient, or nobody for whoever is called Nobody. */
  private static String discovered(String request) throws Exception {
    Document document = parse(request);
    Element query = element(document, "queryByParameter");
    Element queryId = element(document, "queryId");
    Element messageId = element(document, "id");
    boolean isNobody = "Nobody".equals(element(document, "family").getTextContent());
    return """
        <PRPA_IN201306UV02 xmlns="urn:hl7-org:v3" ITSVersion="XML_1.0">
          <id root="2.999.10.3" extension="%d"/>
          <creationTime value="20261129120000"/>
          <interactionId root="2.16.840.1.113883.1.6" extension="PRPA_IN201306UV02"/>
          <processingCode code="T"/>
          <processingModeCode code="T"/>
          <acceptAckCode code="NE"/>
          <receiver typeCode="RCV">
            <device classCode="DEV" determinerCode="INSTANCE"><id root="2.999.1"/></device>
          </receiver>
          <sender typeCode="SND">
            <device classCode="DEV" determinerCode="INSTANCE">
              <id root="2.999.10"/>
              <asAgent classCode="AGNT">
                <representedOrganization classCode="ORG" determinerCode="INSTANCE"><id root="2.999.10"/></representedOrganization>
              </asAgent>
            </device>
          </sender>
          <acknowledgement>
            <typeCode code="AA"/>
            <targetMessage>%s</targetMessage>
          </acknowledgement>
          <controlActProcess classCode="CACT" moodCode="EVN">
            <code code="PRPA_TE201306UV02" codeSystem="2.16.840.1.113883.1.6"/>
            %s
            <queryAck>
              %s
              <queryResponseCode code="%s"/>
            </queryAck>
            %s
          </controlActProcess>
        </PRPA_IN201306UV02>
        """.formatted(
            System.nanoTime(),
            text(messageId),
            isNobody ? "" : match(),
            text(queryId),
            isNobody ? "NF" : "OK",
            text(query));
  }

  private static String match() {
    return """
        <subject typeCode="SUBJ">
          <registrationEvent classCode="REG" moodCode="EVN">
            <id nullFlavor="NA"/>
            <statusCode code="active"/>
            <subject1 typeCode="SBJ">
              <patient classCode="PAT">
                <id root="2.999.10.1" extension="ipf^1&amp;2'3"/>
                <statusCode code="active"/>
                <patientPerson classCode="PSN" determinerCode="INSTANCE">
                  <name><given>Zoë</given><family>Núñez</family></name>
                  <telecom value="tel:+1-617-555-0100" use="HP"/>
                  <administrativeGenderCode code="F"/>
                  <birthTime value="19851210"/>
                  <addr><streetAddressLine>1 Main St</streetAddressLine><city>Boston</city><state>MA</state><postalCode>02118</postalCode></addr>
                </patientPerson>
                <providerOrganization classCode="ORG" determinerCode="INSTANCE">
                  <id root="2.999.10"/>
                  <name>IPF Clinic</name>
                  <contactParty classCode="CON"><telecom value="tel:+1-617-555-0101"/></contactParty>
                </providerOrganization>
                <subjectOf1>
                  <queryMatchObservation classCode="COND" moodCode="EVN">
                    <code code="IHE_PDQ"/>
                    <value xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="INT" value="98"/>
                  </queryMatchObservation>
                </subjectOf1>
              </patient>
            </subject1>
            <custodian typeCode="CST">
              <assignedEntity classCode="ASSIGNED">
                <id root="2.999.10"/>
                <code code="NotHealthDataLocator" codeSystem="1.3.6.1.4.1.19376.1.2.27.2"/>
              </assignedEntity>
            </custodian>
          </registrationEvent>
        </subject>
        """;
  }

  private static QueryResponse listed(QueryRegistry request) {
    FindDocumentsQuery query = (FindDocumentsQuery) request.getQuery();
    if (!PATIENT.equals(query.getPatientId().getId())) {
      QueryResponse failed = new QueryResponse(Status.FAILURE);
      failed.setErrors(List.of(error(ErrorCode.UNKNOWN_PATIENT_ID, "not known here")));
      return failed;
    }
    QueryResponse response = new QueryResponse(Status.SUCCESS);
    DOCUMENTS.forEach((id, bytes) -> response.getDocumentEntries().add(entry(id, bytes)));
    return response;
  }

  private static RetrievedDocumentSet retrieved(RetrieveDocumentSet request) {
    List<RetrievedDocument> found = new ArrayList<>();
    List<ErrorInfo> errors = new ArrayList<>();
    for (DocumentReference reference : request.getDocuments()) {
      byte[] bytes = DOCUMENTS.get(reference.getDocumentUniqueId());
      if (bytes == null)
        errors.add(error(ErrorCode.DOCUMENT_UNIQUE_ID_ERROR, reference.getDocumentUniqueId()));
      else
        found.add(new RetrievedDocument(
            new DataHandler(new ByteArrayDataSource(bytes, "text/plain")),
            reference, null, null, "text/plain"));
    }
    RetrievedDocumentSet response = new RetrievedDocumentSet(
        errors.isEmpty() ? Status.SUCCESS : Status.PARTIAL_SUCCESS);
    response.getDocuments().addAll(found);
    response.setErrors(errors);
    return response;
  }

  private static ErrorInfo error(ErrorCode code, String context) {
    return new ErrorInfo(code, context, Severity.ERROR, "urn:oid:" + HOME, null);
  }

  private static DocumentEntry entry(String id, byte[] bytes) {
    Identifiable patient = new Identifiable(PATIENT, new AssigningAuthority(AUTHORITY));
    DocumentEntry entry = new DocumentEntry();
    entry.assignEntryUuid();
    entry.setType(DocumentEntryType.STABLE);
    entry.setAvailabilityStatus(AvailabilityStatus.APPROVED);
    entry.setUniqueId(id);
    entry.setHomeCommunityId("urn:oid:" + HOME);
    entry.setRepositoryUniqueId(REPOSITORY);
    entry.setPatientId(patient);
    entry.setSourcePatientId(patient);
    entry.setTitle(new LocalizedString("Befund & „Überweisung“ <" + id + ">"));
    entry.setMimeType("text/plain");
    entry.setLanguageCode("en-US");
    entry.setCreationTime("20261101083000");
    entry.setHash(sha("SHA-1", bytes));
    entry.setSize((long) bytes.length);
    entry.setClassCode(code("11506-3", "Progress note", "2.16.840.1.113883.6.1"));
    entry.setTypeCode(code("34133-9", "Summarization of Episode Note", "2.16.840.1.113883.6.1"));
    entry.setFormatCode(code("urn:ihe:iti:xds:2017:mimeTypeSufficient", "by its type", "1.3.6.1.4.1.19376.1.2.3"));
    entry.setHealthcareFacilityTypeCode(code("35971002", "Ambulatory care site", "2.16.840.1.113883.6.96"));
    entry.setPracticeSettingCode(code("394802001", "General medicine", "2.16.840.1.113883.6.96"));
    entry.getConfidentialityCodes().add(code("N", "Normal", "2.16.840.1.113883.5.25"));
    return entry;
  }

  private static Code code(String code, String name, String system) {
    return new Code(code, new LocalizedString(name), system);
  }

  /** A text with every trap of MIME, and two megabytes of any bytes. */
  private static Map<String, byte[]> documents() {
    byte[] large = new byte[2 * 1024 * 1024];
    new Random(1).nextBytes(large);
    Map<String, byte[]> documents = new LinkedHashMap<>();
    documents.put("2.999.10.4.1", "\r\n--uuid:x\r\n\r\n Zoë \r".getBytes(StandardCharsets.UTF_8));
    documents.put("2.999.10.4.2", large);
    documents.put("2.999.10.4.3", new byte[] {'\n'});
    return documents;
  }

  private static byte[] bytesOf(RetrievedDocument document) {
    try (var stream = document.getDataHandler().getInputStream()) {
      return stream.readAllBytes();
    } catch (java.io.IOException error) {
      throw new IllegalStateException(error);
    }
  }

  private static String sha(String algorithm, byte[] bytes) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance(algorithm).digest(bytes));
    } catch (java.security.NoSuchAlgorithmException error) {
      throw new IllegalStateException(error);
    }
  }

  private static Document parse(String xml) throws Exception {
    DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
    factory.setNamespaceAware(true);
    return factory.newDocumentBuilder().parse(new InputSource(new StringReader(xml)));
  }

  private static Element element(Document document, String name) {
    NodeList found = document.getElementsByTagNameNS(HL7, name);
    return (Element) found.item(0);
  }

  private static String text(Element element) throws Exception {
    StringWriter writer = new StringWriter();
    var transformer = TransformerFactory.newInstance().newTransformer();
    transformer.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "yes");
    transformer.transform(new DOMSource(element), new StreamResult(writer));
    return writer.toString();
  }
}
