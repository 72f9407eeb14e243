import java.time.Instant;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneOffsetTransitionRule;
import java.time.zone.ZoneRules;
import java.time.zone.ZoneRulesProvider;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.TreeSet;

/** Prints the rules of every time zone that this Java knows, as one JSON document. */
class ZoneRulesDump {
  public static void main(String[] arguments) {
    TreeMap<String, Integer> known = new TreeMap<>();
    StringJoiner rules = new StringJoiner(",\n", "[", "]");
    StringJoiner zones = new StringJoiner(",\n", "{", "}");
    for (String id : new TreeSet<>(ZoneRulesProvider.getAvailableZoneIds())) {
      String written = write(ZoneId.of(id).getRules());
      if (!known.containsKey(written)) {
        known.put(written, known.size());
        rules.add(written);
      }
      zones.add('"' + id + "\":" + known.get(written));
    }
    StringJoiner aliases = new StringJoiner(",", "{", "}");
    ZoneId.SHORT_IDS.forEach((from, to) -> aliases.add('"' + from + "\":\"" + to + '"'));
    String version = ZoneRulesProvider.getVersions("UTC").lastEntry().getKey();
    System.out.printf(
        "{\"version\":\"%s\",\"zones\":%s,\"aliases\":%s,\"rules\":%s}%n",
        version, zones, aliases, rules);
  }

  /** The first offset, then moments and the offsets after them, then the yearly rules. */
  static String write(ZoneRules rules) {
    StringJoiner moments = new StringJoiner(",", "[", "]");
    StringJoiner offsets = new StringJoiner(",", "[", "]");
    for (ZoneOffsetTransition transition : rules.getTransitions()) {
      moments.add(Long.toString(transition.toEpochSecond()));
      offsets.add(Integer.toString(transition.getOffsetAfter().getTotalSeconds()));
    }
    StringJoiner yearly = new StringJoiner(",", "[", "]");
    for (ZoneOffsetTransitionRule rule : rules.getTransitionRules()) {
      int weekday = rule.getDayOfWeek() == null ? 0 : rule.getDayOfWeek().getValue();
      int seconds = rule.isMidnightEndOfDay() ? 86400 : rule.getLocalTime().toSecondOfDay();
      int against =
          switch (rule.getTimeDefinition()) {
            case UTC -> 0;
            case STANDARD -> rule.getStandardOffset().getTotalSeconds();
            case WALL -> rule.getOffsetBefore().getTotalSeconds();
          };
      yearly.add(
          String.format(
              "[%d,%d,%d,%d,%d]",
              rule.getMonth().getValue(), rule.getDayOfMonthIndicator(), weekday,
              seconds - against, rule.getOffsetAfter().getTotalSeconds()));
    }
    int first = rules.getOffset(Instant.MIN).getTotalSeconds();
    return "[" + first + "," + moments + "," + offsets + "," + yearly + "]";
  }
}
