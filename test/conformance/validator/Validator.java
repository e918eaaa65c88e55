import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.context.support.IValidationSupport.IssueSeverity;
import ca.uhn.fhir.context.support.DefaultProfileValidationSupport;
import ca.uhn.fhir.validation.FhirValidator;
import ca.uhn.fhir.validation.SingleValidationMessage;
import com.google.gson.Gson;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.hl7.fhir.common.hapi.validation.support.CommonCodeSystemsTerminologyService;
import org.hl7.fhir.common.hapi.validation.support.InMemoryTerminologyServerValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.NpmPackageValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.PrePopulatedValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.SnapshotGeneratingValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.UnknownCodeSystemWarningValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.ValidationSupportChain;
import org.hl7.fhir.common.hapi.validation.validator.FhirInstanceValidator;
import org.hl7.fhir.r4.model.Bundle;

/**
 * Validates the resources in a folder's .json files with HAPI's validator, without a terminology server, and prints one
 * line of JSON for each issue. Arguments: the folder, the package (.tgz) of the implementation guide, as a resource of the
 * class path, and a Bundle of value sets that the guide refers to and its package lacks.
 */
public class Validator {
  public static void main(String[] args) throws Exception {
    FhirContext context = FhirContext.forR4();
    NpmPackageValidationSupport guides = new NpmPackageValidationSupport(context);
    guides.loadPackageFromClasspath("classpath:" + args[1]);
    PrePopulatedValidationSupport valueSets = new PrePopulatedValidationSupport(context);
    Bundle known = context.newJsonParser().parseResource(Bundle.class, Files.readString(Path.of(args[2])));
    known.getEntry().forEach(entry -> valueSets.addValueSet(entry.getResource()));
    UnknownCodeSystemWarningValidationSupport unknownCodes = new UnknownCodeSystemWarningValidationSupport(context);
    unknownCodes.setNonExistentCodeSystemSeverity(IssueSeverity.INFORMATION);
    ValidationSupportChain chain = new ValidationSupportChain(
        valueSets,
        guides,
        new DefaultProfileValidationSupport(context),
        new CommonCodeSystemsTerminologyService(context),
        new InMemoryTerminologyServerValidationSupport(context),
        new SnapshotGeneratingValidationSupport(context),
        unknownCodes);
    FhirInstanceValidator rules = new FhirInstanceValidator(chain);
    rules.setAnyExtensionsAllowed(true);
    FhirValidator validator = context.newValidator();
    validator.registerValidatorModule(rules);
    Gson gson = new Gson();
    List<Path> files;
    try (Stream<Path> all = Files.list(Path.of(args[0]))) {
      files = all.filter(file -> file.toString().endsWith(".json")).sorted().toList();
    }
    for (Path file : files) {
      for (SingleValidationMessage issue : validator.validateWithResult(Files.readString(file)).getMessages()) {
        Map<String, String> line = new LinkedHashMap<>();
        line.put("file", file.getFileName().toString());
        line.put("severity", issue.getSeverity().getCode());
        line.put("location", issue.getLocationString());
        line.put("id", issue.getMessageId());
        line.put("message", issue.getMessage());
        System.out.println(gson.toJson(line));
      }
      System.err.println(file.getFileName());
    }
  }
}
